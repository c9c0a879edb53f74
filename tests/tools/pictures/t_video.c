/* t_video.c: videos read frame by frame: pixels and times equal ffmpeg's own for every codec, size, rotation and rate;
   damaged and truncated files, files without video, and an ffmpeg that is killed, hangs or is too old.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/pictures/t_video.c tools/pictures/ffmpeg.c
      tools/pictures/frame_ranges.c tools/pictures/frame_windows.c tools/base/child.c tools/base/source.c
      tools/base/files.c tools/base/replace.c tools/base/file_kind.c tools/base/text.c tools/base/memory.c
      tools/base/say.c tools/base/clock.c -o build/t_video -lcmocka -lpthread -lm */
#include "pictures/video.c"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <cmocka.h>

#include "../../lib/test_video.h"

#define DRAWN "-f lavfi -i testsrc=s=%dx%d:r=25:d=%d"

/* Opens a video that must open; prints the reason otherwise. */
static video *opened(const video_request *r) {
    text why = TEXT_INIT;
    video *v = video_open(r, &why);
    if (!v) fail_msg("%s: %s", r->path, why.s);
    text_free(&why);
    return v;
}

static video *open_file(const char *name) {
    const video_request r = {.path = video_path(name)};
    return opened(&r);
}

/* Checks that no frame can be read, for this reason. */
static void refused(const video_request *r, const char *reason) {
    text why = TEXT_INIT;
    assert_null(video_open(r, &why));
    if (!why.s || !says(why.s, reason)) fail_msg("%s: %s, not %s", r->path, why.s ? why.s : "", reason);
    text_free(&why);
}

/* Reads the remaining frames. Returns their number, with the kind of end, and the reason in why. */
static size_t count_rest(video *v, video_end *end, text *why) {
    video_frame f;
    size_t n = 0;
    int result;
    while ((result = video_next(v, &f, why)) == 1) n++;
    *end = video_how_it_ended(v);
    assert_int_equal(result, *end == VIDEO_WHOLE ? 0 : -1);
    assert_true((why->len == 0) == (*end == VIDEO_WHOLE || *end == VIDEO_INTERRUPTED));
    assert_int_equal(video_next(v, &f, why), result); /* again with the same result */
    return n;
}

/* --- pixels and times of ffmpeg ---------------------------------------------------------------------------------- */

static const struct {
    const char *name, *make;
    int width, height;
    size_t frames;
} kinds[] = {
    {"gop.mp4", "-f lavfi -i testsrc=s=160x120:r=25:d=3 -c:v libx264 -g 250 -pix_fmt yuv420p", 160, 120, 75},
    {"odd.webm", "-f lavfi -i testsrc=s=161x121:r=10:d=1 -c:v libvpx-vp9 -pix_fmt yuv420p", 161, 121, 10},
    {"motion.avi", "-f lavfi -i testsrc=s=162x122:r=25:d=1 -c:v mjpeg", 162, 122, 25},
    {"ten.mp4", "-f lavfi -i testsrc=s=160x120:r=25:d=1 -c:v libx264 -pix_fmt yuv420p10le", 160, 120, 25},
    {"grey.mkv", "-f lavfi -i testsrc=s=33x17:r=30000/1001:d=1 -c:v ffv1 -pix_fmt gray", 33, 17, 30},
    {"grey16.mkv", "-f lavfi -i testsrc=s=33x17:r=25:d=1 -c:v ffv1 -pix_fmt gray16le", 33, 17, 25},
    {"alpha.mkv", "-f lavfi -i testsrc=s=33x17:r=25:d=1 -c:v ffv1 -pix_fmt yuva420p", 33, 17, 25},
    {"full.mkv", "-f lavfi -i testsrc=s=31x19:r=25:d=1 -c:v ffv1 -pix_fmt yuv444p", 31, 19, 25},
    {"tiny.mkv", "-f lavfi -i testsrc=s=16x16:r=1:d=3 -vf crop=1:1 -c:v ffv1 -pix_fmt gbrp", 1, 1, 3},
    {"irregular.webm", "-f lavfi -i testsrc=s=64x48:r=25:d=2 -vf \"select='not(mod(n,3))+not(mod(n,7))'\" "
                       "-fps_mode passthrough -c:v libvpx-vp9 -pix_fmt yuv420p", 64, 48, 22},
    {"photos.mkv", "-f lavfi -i testsrc=s=64x48:r=1/20:d=60 -c:v ffv1", 64, 48, 3},
    {"-dash: %d.mp4", "-f lavfi -i testsrc=s=64x48:r=25:d=1 -c:v libx264 -pix_fmt yuv420p", 64, 48, 25},
    {"http:\\x'.avi", "-f lavfi -i testsrc=s=64x48:r=25:d=1 -c:v mjpeg", 64, 48, 25},
};

static void test_pixels_and_times(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const char *end = strrchr(kinds[k].name, '.');
        text pixels = TEXT_INIT, times = TEXT_INIT, why = TEXT_INIT;
        video_frame f;
        video_make("%s made%s && ffmpeg -nostdin -v error -y -i made%s -fps_mode passthrough -pix_fmt rgb24 "
                   "-f rawvideo pixels && ffprobe -v error -show_entries frame=pts_time -of csv=p=0 made%s >times",
                   kinds[k].make,
                   end, end, end);
        char made[1100];
        snprintf(made, sizeof made, "%smade%s", video_folder, end);
        assert_int_equal(rename(made, video_path(kinds[k].name)), 0);
        assert_true(file_read(video_path("pixels"), SIZE_MAX / 2, 1, &pixels, &why));
        assert_true(file_read(video_path("times"), SIZE_MAX / 2, 1, &times, &why));
        size_t bytes = 3 * (size_t)kinds[k].width * (size_t)kinds[k].height, n = 0;
        const char *time = times.s;
        double start = strtod(times.s, NULL);
        video *v = open_file(kinds[k].name);
        while (video_next(v, &f, &why) == 1) {
            char *after;
            double seconds = strtod(time, &after) - start;
            assert_int_equal(f.index, n);
            assert_int_equal(f.width, kinds[k].width);
            assert_int_equal(f.height, kinds[k].height);
            assert_true(f.seconds == (double)f.pts * (double)f.num / (double)f.den);
            assert_true(f.seconds > seconds - 2e-6 && f.seconds < seconds + 2e-6); /* ffprobe prints six places */
            assert_true((n + 1) * bytes <= pixels.len);
            assert_memory_equal(f.rgb, pixels.s + n++ * bytes, bytes);
            time = strchr(after, '\n') + 1;
        }
        if (video_how_it_ended(v) != VIDEO_WHOLE) fail_msg("%s: %s", kinds[k].name, why.s);
        assert_int_equal(n, kinds[k].frames);
        assert_int_equal(n * bytes, pixels.len);
        assert_int_equal(video_streams(v), 1);
        assert_true(v->room <= bytes + CHUNK); /* room for one frame only */
        video_close(v);
        text_free(&pixels), text_free(&times), text_free(&why);
    }
}

/* Times are exact: frames 0, 3, 6, 7, 9 ... of 25 per second, in milliseconds. */
static void test_exact_times(void **state) {
    text why = TEXT_INIT;
    video_frame f;
    video *v = open_file("irregular.webm");
    (void)state;
    for (long long n = 0; n < 50; n++) {
        if (n % 3 && n % 7) continue;
        assert_int_equal(video_next(v, &f, &why), 1);
        assert_int_equal(f.pts * f.num * 1000, n * 40 * f.den);
    }
    assert_int_equal(video_next(v, &f, &why), 0);
    video_close(v);
}

static void test_rotation(void **state) {
    video_frame f;
    text why = TEXT_INIT;
    (void)state;
    if (!video_shell("ffmpeg -nostdin -v error -y -display_rotation 90 -i gop.mp4 -c copy turned.mp4"))
        video_make("-i gop.mp4 -c copy -metadata:s:v rotate=270 turned.mp4"); /* before version 6 */
    video *v = open_file("turned.mp4");
    assert_int_equal(video_next(v, &f, &why), 1);
    assert_int_equal(f.width, 120);
    assert_int_equal(f.height, 160);
    video_close(v);
}

/* The line of a script in place of ffmpeg for the first frame, besides its size. */
#define NUMBER_0 "printf 'frame:0 pts:0\\nreid=0\\n' >&5; "

/* Checks that wanted frames have the same pixels as when all frames are read, also if the size changes and ffmpeg
   restarts its numbering. */
static void check_wanted(const char *name, const uint32_t *wanted, size_t count, size_t most, double cut) {
    video_request r = {.path = video_path(name), .cut = cut};
    text why = TEXT_INIT;
    video_frame f, all;
    char path[1100];
    strcpy(path, r.path);
    r.path = path;
    video *whole = opened(&r);
    r.wanted = wanted, r.wanted_count = count;
    video *v = opened(&r);
    size_t missing = 0, next = 0;
    while (video_next(whole, &all, &why) == 1) {
        assert_int_equal(video_next(v, &f, &why), 1);
        assert_true(f.index == all.index && f.pts == all.pts && f.width == all.width && f.height == all.height);
        assert_int_equal(f.cut, all.cut);
        while (next < count && wanted[next] < f.index) next++;
        if (next < count && wanted[next] == f.index) assert_non_null(f.rgb);
        if (f.rgb) assert_memory_equal(f.rgb, all.rgb, 3 * (size_t)f.width * (size_t)f.height);
        missing += !f.rgb;
    }
    assert_int_equal(video_next(v, &f, &why), 0);
    assert_true(missing <= most);
    assert_true(most == 0 || missing > 0); /* unwanted pixels are not sent */
    video_close(v);
    video_close(whole);
}

static void test_wanted(void **state) {
    static const uint32_t some[] = {0, 3, 4, 5, 40, 74}, first[] = {0, 1}, late[] = {30, 31, 60}, behind[] = {9, 900};
    uint32_t many[4000];
    (void)state;
    for (uint32_t i = 0; i < 4000; i++) many[i] = 2 * i; /* more ranges than an argument can hold */
    check_wanted("gop.mp4", some, 6, 69, 0);
    check_wanted("gop.mp4", some, 6, 69, 10);
    check_wanted("gop.mp4", first, 0, 75, 0);
    check_wanted("gop.mp4", behind, 2, 74, 0);
    check_wanted("gop.mp4", many, 4000, 0, 0);
    check_wanted("irregular.webm", first, 2, 20, 0);
    check_wanted("sizes.h264", late, 3, 25, 100);
    check_wanted("sizes.h264", first, 2, 23, 0);
}

/* Checks that a part of a frame contains the area, with the pixels of the whole frame. */
static void check_part(const video_frame *f, const video_frame *all, const frame_area *area, int parts) {
    const reid_box p = f->part;
    const double across = parts ? f->width / (double)FRAME_PARTS : 1;
    const double down = parts ? f->height / (double)FRAME_PARTS : 1;
    assert_true(p.x >= 0 && p.y >= 0 && p.x + p.width <= f->width && p.y + p.height <= f->height);
    assert_true(p.x <= area->x0 * across && p.x + p.width >= fmin(f->width, area->x1 * across));
    assert_true(p.y <= area->y0 * down && p.y + p.height >= fmin(f->height, area->y1 * down));
    for (int y = 0; y < p.height; y++)
        assert_memory_equal(f->rgb + 3 * (size_t)(y * p.width), all->rgb + 3 * (size_t)((p.y + y) * f->width + p.x),
                            3 * (size_t)p.width);
}

/* most: the largest share of the wanted frames' pixels that may be sent. */
static void check_areas(const char *name, const uint32_t *wanted, const frame_area *areas, size_t count, int parts,
                        double most) {
    char path[1100];
    video_request r = {.path = strcpy(path, video_path(name))};
    text why = TEXT_INIT;
    video_frame f, all;
    size_t next = 0;
    double came = 0, there = 0;
    video *whole = opened(&r);
    r.wanted = wanted, r.wanted_count = count, r.areas = areas, r.parts = parts;
    video *v = opened(&r);
    while (video_next(whole, &all, &why) == 1) {
        assert_int_equal(video_next(v, &f, &why), 1);
        assert_true(f.index == all.index && f.pts == all.pts && f.width == all.width && f.height == all.height);
        if (next == count || wanted[next] != f.index) continue;
        assert_non_null(f.rgb);
        check_part(&f, &all, &areas[next++], parts);
        came += (double)f.part.width * f.part.height, there += (double)f.width * f.height;
    }
    assert_int_equal(video_next(v, &f, &why), 0);
    assert_int_equal(next, count);
    assert_true(came <= most * there);
    video_close(v);
    video_close(whole);
}

static void test_areas(void **state) {
    static const uint32_t some[] = {0, 3, 4, 5, 40, 74}, few[] = {1, 2, 8}, late[] = {30, 31, 60}, every[] = {0, 1, 2};
    static const frame_area near[] = {{0, 0, 9, 9},     {151, 111, 160, 120}, {150, 3, 171, 20},
                                      {7, 119, 8, 125}, {900, 900, 901, 901}, {33, 55, 40, 60}};
    static const frame_area odd[] = {{3, 5, 10, 9}, {4, 6, 9, 11}, {1, 1, 8, 7}};
    static const frame_area shares[] = {{0, 0, 6554, 6554}, {58983, 58982, 65536, 65536}, {21846, 43691, 27307, 54613}};
    static const frame_area whole[] = {{0, 0, 65536, 65536}, {0, 0, 1, 1}, {65535, 65535, 65536, 65536}};
    frame_area areas[75];
    uint32_t frames[75];
    (void)state;
    check_areas("gop.mp4", some, near, 6, 0, 0.03);
    check_areas("odd.webm", few, odd, 3, 0, 0.01);
    check_areas("motion.avi", few, odd, 3, 0, 0.01);
    check_areas("ten.mp4", few, shares, 3, 1, 0.03);
    check_areas("odd.webm", few, shares, 3, 1, 0.03);
    check_areas("grey16.mkv", few, shares, 3, 1, 0.1);
    check_areas("turned.mp4", few, shares, 3, 1, 0.03);
    check_areas("turned.mp4", some, near, 6, 0, 0.03);
    check_areas("full.mkv", few, whole, 3, 1, 1);
    check_areas("tiny.mkv", every, whole, 3, 1, 1);
    check_areas("sizes.h264", late, odd, 3, 0, 1); /* read again, with whole frames */
    for (uint32_t i = 0; i < 75; i++) frames[i] = i, areas[i] = (frame_area){i, i, i + 3, i + 2};
    check_areas("gop.mp4", frames, areas, 75, 0, 0.001);
}

/* If there are more frames than windows, frames in a row share one; frames that are sent but not wanted count, too. */
static void test_windows(void **state) {
    static const uint32_t frames[] = {3, 9, 10, 50, 51};
    static const frame_area areas[] = {{5, 6, 7, 9}, {1, 2, 4, 4}, {10, 20, 11, 30}, {8, 8, 9, 9}, {0, 0, 2, 1}};
    static const frame_range ranges[] = {{3, 10}, {50, 51}};
    frame_windows w = {0};
    text filter = TEXT_INIT;
    (void)state;
    assert_true(frame_windows_of(frames, areas, 5, ranges, 2, 3, &w));
    assert_int_equal(w.count, 3);
    assert_true(w.width == 6 && w.height == 22);
    assert_true(w.at[0].from == 0 && w.at[0].x == 1 && w.at[0].y == 2);
    assert_true(w.at[1].from == 7 && w.at[1].x == 8 && w.at[1].y == 8);
    assert_true(w.at[2].from == 9 && w.at[2].x == 0 && w.at[2].y == 0);
    frame_windows_filter(&w, &filter);
    assert_string_equal(filter.s, "crop=w='min(iw,6)':h='min(ih,22)':x='if(lt(n,7),1,if(lt(n,9),8,0))':"
                                  "y='if(lt(n,7),2,if(lt(n,9),8,0))'");
    const reid_box box = frame_windows_place(&w, 8, 12, 40), small = frame_windows_place(&w, 8, 4, 10);
    assert_true(box.x == 6 && box.y == 8 && box.width == 6 && box.height == 22);
    assert_true(small.x == 0 && small.y == 0 && small.width == 4 && small.height == 10);
    free(w.at), text_free(&filter);
}

/* The most windows and the most ranges fit into one argument together. */
static void test_longest_argument(void **state) {
    enum { MANY = 3 * FRAME_WINDOWS, LIMIT = 128 << 10 };
    static uint32_t frames[MANY];
    static frame_area areas[MANY];
    frame_range *ranges;
    size_t count;
    frame_windows w = {.parts = 1};
    (void)state;
    for (uint32_t i = 0, at = 4000000000u; i < MANY; i++) {
        frames[i] = at += i % 6 == 5 ? 1 : 3;
        areas[i] = (frame_area){FRAME_PARTS - 1 - i, FRAME_PARTS - 1 - i, FRAME_PARTS, FRAME_PARTS};
    }
    assert_true(frame_ranges_of(frames, MANY, FRAME_RANGES, &ranges, &count));
    assert_int_equal(count, FRAME_RANGES);
    assert_true(frame_windows_of(frames, areas, MANY, ranges, count, FRAME_WINDOWS, &w));
    assert_int_equal(w.count, FRAME_WINDOWS);
    for (size_t i = 0; i < w.count; i++) w.at[i].from += 4000000000u;
    const ffmpeg_request r = {.path = "x", .ranges = ranges, .range_count = count, .windows = &w};
    char *argv[FFMPEG_ARGUMENTS];
    text texts[FFMPEG_TEXTS] = {TEXT_INIT, TEXT_INIT, TEXT_INIT};
    assert_true(ffmpeg_arguments(&r, argv, texts));
    assert_true(texts[2].len > LIMIT * 3 / 4 && texts[2].len < LIMIT);
    for (int i = 0; i < FFMPEG_TEXTS; i++) text_free(&texts[i]);
    free(ranges), free(w.at);
}

/* Each frame comes at its own size; a new size begins a new scene. */
static void test_changing_size(void **state) {
    text why = TEXT_INIT;
    video_frame f;
    (void)state;
    video_make(DRAWN " -c:v libx264 -pix_fmt yuv420p -f h264 wide", 162, 122, 1);
    video_make(DRAWN " -c:v libx264 -pix_fmt yuv420p -f h264 high", 122, 162, 1);
    assert_true(video_shell("cat wide high wide >sizes.h264"));
    const video_request r = {.path = video_path("sizes.h264"), .cut = 100};
    video *v = opened(&r);
    for (size_t n = 0; n < 75; n++) {
        assert_int_equal(video_next(v, &f, &why), 1);
        int is_high = n / 25 == 1;
        assert_int_equal(f.width, is_high ? 122 : 162);
        assert_int_equal(f.height, is_high ? 162 : 122);
        assert_int_equal(f.cut, n == 25 || n == 50);
    }
    assert_int_equal(video_next(v, &f, &why), 0);
    video_close(v);
}

static void test_cuts(void **state) {
    text why = TEXT_INIT;
    video_frame f;
    (void)state;
    video_make("-f lavfi -i color=red:s=64x48:r=25:d=1 -f lavfi -i testsrc=s=64x48:r=25:d=1 -f lavfi -i "
               "color=white:s=64x48:r=25:d=1 -filter_complex '[0][1][2]concat=n=3' -c:v libx264 -pix_fmt yuv420p "
               "scenes.mp4");
    for (int look = 0; look < 2; look++) {
        const video_request r = {.path = video_path("scenes.mp4"), .cut = look ? 10 : 0};
        video *v = opened(&r);
        for (size_t n = 0; n < 75; n++) {
            assert_int_equal(video_next(v, &f, &why), 1);
            assert_int_equal(f.cut, look && (n == 25 || n == 50));
        }
        assert_int_equal(video_next(v, &f, &why), 0);
        video_close(v);
    }
}

/* --- invalid files ------------------------------------------------------------------------------------------------ */

static void ends(const char *name, size_t least, size_t most, video_end expected, const char *reason) {
    text why = TEXT_INIT;
    video_end end;
    video *v = open_file(name);
    size_t n = count_rest(v, &end, &why);
    if (end != expected || n < least || n > most || !says(why.s ? why.s : "", reason))
        fail_msg("%s: %zu frames, end %d: %s", name, n, (int)end, why.s ? why.s : "");
    video_close(v);
    text_free(&why);
}

static void test_cut_off(void **state) {
    (void)state;
    video_make(DRAWN " -c:v libx264 -pix_fmt yuv420p -movflags +faststart whole.mp4", 162, 122, 4);
    video_make("-i whole.mp4 -c copy whole.mkv");
    video_make("-i whole.mp4 -c:v mjpeg whole.avi");
    video_cut_off("whole.mp4", "cut.mp4", 0.6);
    video_cut_off("whole.mkv", "cut.mkv", 0.6);
    video_cut_off("whole.avi", "cut.avi", 0.6);
    video_cut_off("gop.mp4", "headless.mp4", 0.6);
    ends("whole.mkv", 100, 100, VIDEO_WHOLE, "");
    ends("cut.mp4", 20, 80, VIDEO_DAMAGED, "ffmpeg reports: ");
    ends("cut.mkv", 20, 80, VIDEO_DAMAGED, "ended prematurely");
    ends("cut.avi", 20, 80, VIDEO_DAMAGED, "");
    const video_request r = {.path = video_path("headless.mp4")};
    refused(&r, "ffmpeg failed: moov atom not found");
}

/* Frames after a damaged part are read. */
static void test_corrupt(void **state) {
    FILE *file;
    long size;
    (void)state;
    assert_true(video_shell("cp whole.mp4 corrupt.mp4"));
    file = fopen(video_path("corrupt.mp4"), "r+");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    for (long at = size / 2; at < size * 4 / 5; at += 97) fseek(file, at, SEEK_SET), fputc(0x55, file);
    assert_int_equal(fclose(file), 0);
    ends("corrupt.mp4", 50, 100, VIDEO_DAMAGED, "ffmpeg reports: ");
}

static void test_no_video(void **state) {
    char here[64] = "/";
    (void)state;
    video_make("-f lavfi -i sine=d=1 sound.m4a");
    video_make("-f lavfi -i sine=d=1 -f lavfi -i testsrc=s=64x48:d=1 -map 0 -map 1 -frames:v 1 -c:v png "
               "-disposition:v attached_pic cover.m4a");
    assert_true(video_shell(": >empty.mp4; head -c 5000 /bin/sh >noise.mp4; mkfifo pipe.mp4"));
    video_request r = {.path = video_path("sound.m4a")};
    refused(&r, "it contains no video");
    r.path = video_path("cover.m4a"), refused(&r, "it contains no video");
    r.path = video_path("empty.mp4"), refused(&r, "ffmpeg failed: ");
    r.path = video_path("noise.mp4"), refused(&r, "ffmpeg failed: ");
    r.path = video_path("pipe.mp4"), refused(&r, "not a regular file");
    r.path = video_path("nothing.mp4"), refused(&r, "No such file");
    r.path = here, refused(&r, "is a folder, not a video");
}

static void test_streams(void **state) {
    video_frame f;
    text why = TEXT_INIT;
    (void)state;
    video_make("-i gop.mp4 -i scenes.mp4 -f lavfi -i sine=d=1 -map 2 -map 0 -map 1 -c:v copy two.mkv");
    video_request r = {.path = video_path("two.mkv")};
    for (r.stream = 0; r.stream < 2; r.stream++) {
        video *v = opened(&r);
        assert_int_equal(video_streams(v), 2);
        assert_int_equal(video_next(v, &f, &why), 1);
        assert_int_equal(f.width, r.stream ? 64 : 160);
        video_close(v);
    }
    refused(&r, "it has no video stream 2; it has 2, numbered from 0");
}

/* A playlist inside a file causes no network requests. */
static void test_no_network(void **state) {
    (void)state;
    assert_true(video_shell("printf '#EXTM3U\\n#EXT-X-TARGETDURATION:1\\n#EXTINF:1,\\nhttp://127.0.0.1:9/a.ts\\n"
                            "#EXT-X-ENDLIST\\n' >list.m3u8"));
    const video_request r = {.path = video_path("list.m3u8")};
    refused(&r, "");
}

static void test_too_large(void **state) {
    text why = TEXT_INIT;
    video_end end;
    (void)state;
    video_request r = {.path = video_path("gop.mp4"), .max_pixels = 160 * 120 - 1};
    refused(&r, "a frame has 160 x 120 pixels, more than --max-pixels 19199");
    r.max_pixels++;
    video *v = opened(&r);
    assert_int_equal(count_rest(v, &end, &why), 75);
    video_close(v);
}

/* --- failures of ffmpeg ------------------------------------------------------------------------------------------- */

static void test_no_ffmpeg(void **state) {
    char *path = strdup(getenv("PATH"));
    video_request r = {.path = video_path("gop.mp4")};
    (void)state;
    setenv("PATH", "/nowhere", 1);
    refused(&r, "ffmpeg, which decodes videos, was not found: install it");
    setenv("PATH", path, 1);
    r.program = "/nowhere/ffmpeg", refused(&r, "/nowhere/ffmpeg: cannot start it: No such file");
    free(path);
}

/* Frames delivered before are usable; no process is left afterwards. */
static void test_killed(void **state) {
    video_frame f;
    video_end end;
    text why = TEXT_INIT;
    (void)state;
    video_make(DRAWN " -c:v libx264 -pix_fmt yuv420p long.mp4", 640, 480, 8); /* more than pipes and decoders hold */
    video *v = open_file("long.mp4");
    for (int n = 0; n < 3; n++) assert_int_equal(video_next(v, &f, &why), 1);
    assert_int_equal(kill(v->ffmpeg.pid, SIGKILL), 0);
    assert_true(count_rest(v, &end, &why) < 150);
    assert_int_equal(end, VIDEO_BROKEN_OFF);
    assert_says_all(why.s, "ffmpeg was killed by signal 9");
    video_close(v);
    text_free(&why);
}

/* Waits until a script has written its process number into a file, and returns it. */
static pid_t read_pid(const char *name) {
    long pid = 0;
    for (int i = 0; i < 1000 && !pid; i++) {
        FILE *file = fopen(video_path(name), "r");
        char line[32] = "";
        if (file && fgets(line, sizeof line, file) && strchr(line, '\n')) pid = strtol(line, NULL, 10);
        if (file) fclose(file);
        usleep(10000);
    }
    assert_true(pid > 0);
    return (pid_t)pid;
}

/* An ffmpeg that writes nothing, and so gets no SIGPIPE, still ends when its reader is killed. */
static void test_reader_killed(void **state) {
    char body[1200], path[1100];
    int status = 0;
    (void)state;
    snprintf(body, sizeof body, "echo $$ >'%s.part'; mv '%s.part' '%s'; exec sleep 1000", video_path("pid"),
             video_path("pid"), video_path("pid"));
    video_request r = {.path = strcpy(path, video_path("gop.mp4"))};
    r.program = video_script("quiet", body);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* this process inherits it, and gets its exit status */
    pid_t reader = fork();
    if (reader == 0) {
        text why = TEXT_INIT;
        video_open(&r, &why);
        _exit(1);
    }
    pid_t quiet = read_pid("pid");
    assert_int_equal(kill(quiet, 0), 0);
    assert_int_equal(kill(reader, SIGKILL), 0);
    assert_int_equal(waitpid(reader, NULL, 0), reader);
    pid_t got = 0;
    for (int i = 0; i < 1000 && got == 0; i++) usleep(10000), got = waitpid(quiet, &status, WNOHANG);
    if (got == 0) kill(quiet, SIGKILL), waitpid(quiet, NULL, 0);
    assert_int_equal(got, quiet);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (waitpid(-1, NULL, 0) > 0) continue; /* the script's mv may have become a child of this process, too */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

static void test_hangs(void **state) {
    char hang[1100], middle[1100];
    video_end end;
    text why = TEXT_INIT;
    (void)state;
    strcpy(hang, video_script("hang", "sleep 1000"));
    strcpy(middle, video_script("middle", "ffmpeg \"$@\" & trap '' TERM; sleep 1; kill -STOP $!; sleep 1000"));
    video_request r = {.path = video_path("gop.mp4"), .program = hang, .timeout = 0.3};
    double begun = clock_seconds();
    refused(&r, "no frame for 0.3 seconds");
    assert_true(clock_seconds() - begun < 5);
    r.path = video_path("long.mp4"), r.program = middle, r.timeout = 1.5;
    video *v = opened(&r);
    sleep(2); /* it is stopped now; the pipes hold the rest */
    assert_true(count_rest(v, &end, &why) < 150);
    assert_int_equal(end, VIDEO_BROKEN_OFF);
    assert_says_all(why.s, "ffmpeg sent no frame for 1.5 seconds");
    video_close(v);
    text_free(&why);
}

static void test_strange_ffmpeg(void **state) {
    char path[1100];
    (void)state;
    video_request r = {.path = strcpy(path, video_path("gop.mp4"))};
    r.program = video_script("nonsense", "echo hello >&3; sleep 1000");
    refused(&r, "unexpected output from ffmpeg: hello");
    r.program = video_script("endless", "tr '\\0' x </dev/zero >&3");
    r.timeout = 1;
    refused(&r, "ffmpeg sent no frame for 1 seconds"); /* a line without an end */
    r.program = video_script("talks", "yes '[x @ 0x1] [error] no' | head -n 100000 >&2; exit 3");
    refused(&r, "ffmpeg failed: no");
    r.program = video_script("mute", "exit 1");
    refused(&r, "ffmpeg failed: no reason given");
    r.program = video_script("empty", "exit 0");
    refused(&r, "it has no frames");
    r.program = video_script("two", NUMBER_0 "printf '#tb 0: 1/25\\n0, 0, 0, 1, 8, 0x1\\n' >&3\n"
                                    "printf '#tb 0: 1/25\\n0, 1, 1, 1, 8, 0x1\\n' >&4; sleep 1000");
    refused(&r, "an inconsistent frame size");
    r.program = video_script("short", NUMBER_0 "printf '#tb 0: 1/25\\n0, 0, 0, 1, 8, 0x1\\n' >&3\n"
                                      "printf '#tb 0: 1/25\\n0, 0, 0, 1, 8, 0x1\\n' >&4; printf 12345");
    refused(&r, "it ends in the middle of a frame");
    r.program = video_script("huge", NUMBER_0 "printf '#tb 0: 1/25\\n0, 0, 0, 1, 99999999, 0x1\\n' >&3\n"
                                     "printf '#tb 0: 1/25\\n0, 0, 0, 1, 8, 0x1\\n' >&4; sleep 1000");
    refused(&r, "an inconsistent frame size");
}

/* Pixels before their table rows: of one frame, of one larger than the previous one, of two together. */
static void test_pixels_first(void **state) {
    static const int sides[] = {700, 1100, 4, 4, 4, 900};
    char body[2000] = "tell() { for p in 3 4; do printf \"0, $1, $1, 1, $2, 0x1\\n\" >&$p; done\n"
                      "printf \"frame:$1 pts:0\\nreid=0\\n\" >&5; }\n"
                      "for p in 3 4; do printf '#tb 0: 1/25\\n' >&$p; done\n";
    char path[1100];
    video_frame f;
    text why = TEXT_INIT;
    (void)state;
    for (int n = 0; n < 6; n++) {
        int together = n == 3 || n == 4; /* two frames, then the rows of both */
        char *at = body + strlen(body);
        at += sprintf(at, "head -c %d /dev/zero | tr '\\0' '\\%d'\n", 3 * sides[n] * sides[n], 101 + n);
        if (together) at += sprintf(at, n == 3 ? "" : "tell 3 4\n");
        sprintf(at, n == 3 ? "" : "sleep 0.2; tell %d %d\n", n, sides[n]);
    }
    video_request r = {.path = strcpy(path, video_path("gop.mp4")), .timeout = 9};
    r.program = video_script("first", body);
    video *v = opened(&r);
    for (int n = 0; n < 6; n++) {
        int value = 64 + 1 + n; /* octal 101 is 65 */
        assert_int_equal(video_next(v, &f, &why), 1);
        assert_int_equal(f.width, sides[n]);
        assert_int_equal(f.height, sides[n]);
        for (int i = 0; i < 3 * f.width * f.height; i++) assert_int_equal(f.rgb[i], value);
    }
    assert_int_equal(video_next(v, &f, &why), 0);
    video_close(v);
}

/* A file that declares more frames than it has, without a message from ffmpeg; sound may be longer than the video. */
static void test_ends_early(void **state) {
    static const char *const body =
        "echo '[info]   Duration: 00:00:09.00, start: 0' >&2\n"
        "for s in Video: %s; do echo \"[info]   Stream #0:0: $s x\" >&2; done\n"
        NUMBER_0 "for p in 3 4; do printf '#tb 0: 1/25\\n0, 0, 50, 1, 1, 0x1\\n' >&$p; done; printf abc";
    char path[1100], script[1000];
    text why = TEXT_INIT;
    video_end end;
    (void)state;
    video_request r = {.path = strcpy(path, video_path("gop.mp4"))};
    for (int sound = 0; sound < 2; sound++) {
        snprintf(script, sizeof script, body, sound ? "Audio:" : "");
        r.program = video_script("early", script);
        video *v = opened(&r);
        assert_int_equal(count_rest(v, &end, &why), 1);
        assert_int_equal(end, sound ? VIDEO_WHOLE : VIDEO_DAMAGED);
        if (!sound) assert_says_all(why.s, "it should last 9.0 seconds, but its last frame is at 2.0");
        video_close(v);
    }
    text_free(&why);
}

/* Versions with other option names are tried again; one that is too old is named. */
static void test_versions(void **state) {
    static const char *const old = "case \"$*\" in *-fps_mode*) echo \"[error] Unrecognized option 'fps_mode'.\" >&2; "
                                   "exit 1;; esac; exec ffmpeg \"$@\"";
    static const char *const new = "case \"$*\" in *base\\ -1*) echo '[vost#0:0/rawvideo @ 0x5] [fatal] Invalid time "
                                   "base: -1' >&2; exit 1;; esac\nfor a; do shift; [ \"$a\" != demux ] || a=-1; "
                                   "set -- \"$@\" \"$a\"; done; exec ffmpeg \"$@\"";
    static const char *const ancient = "echo '[info] ffmpeg version 4.2.2 Copyright' >&2; "
                                       "echo \"[error] Unrecognized option 'noautoscale'.\" >&2; exit 1";
    static const char *const newest = "echo '[error] Not detecting m3u8/hls with non standard extension and non "
                                      "standard mime type' >&2; echo '[error] Error opening input' >&2; exit 1";
    char path[1100];
    text why = TEXT_INIT;
    video_end end;
    (void)state;
    video_request r = {.path = strcpy(path, video_path("gop.mp4"))};
    video *real = opened(&r);
    int speaks = (int)real->dialect;
    video_close(real);
    for (int k = 0; k < 2 && speaks == FFMPEG_5; k++) { /* other versions lack the options that these pass on */
        r.program = video_script(k ? "new" : "old", k ? new : old);
        video *v = opened(&r);
        assert_int_equal(v->dialect, k ? FFMPEG_9 : FFMPEG_4);
        assert_int_equal(count_rest(v, &end, &why), 75);
        assert_int_equal(end, VIDEO_WHOLE);
        video_close(v);
    }
    r.program = video_script("ancient", ancient);
    refused(&r, "ffmpeg 4.2.2 does not support what is needed (noautoscale); install 4.4 or newer");
    r.program = video_script("newest", newest);
    refused(&r, "it is not a video, but a playlist");
}

static void test_interrupted(void **state) {
    video_frame f;
    video_end end;
    text why = TEXT_INIT;
    (void)state;
    interrupt_setup();
    video *v = open_file("long.mp4");
    assert_int_equal(video_next(v, &f, &why), 1);
    raise(SIGTERM);
    assert_true(count_rest(v, &end, &why) < 3);
    assert_int_equal(end, VIDEO_INTERRUPTED);
    video_close(v);
    assert_int_equal(interrupt_take(), SIGTERM);
}

static int open_files(void) {
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(folder)) n++;
    closedir(folder);
    return n;
}

static int files_before;

/* Runs last: no child is left, even if ffmpeg did not end by itself. */
static void test_nothing_is_left(void **state) {
    (void)state;
    video_close(NULL);
    assert_int_equal(open_files(), files_before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child, no zombie */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels_and_times), cmocka_unit_test(test_exact_times),
        cmocka_unit_test(test_rotation),         cmocka_unit_test(test_changing_size),
        cmocka_unit_test(test_wanted),           cmocka_unit_test(test_areas),
        cmocka_unit_test(test_windows),          cmocka_unit_test(test_longest_argument),
        cmocka_unit_test(test_cuts),             cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_corrupt),          cmocka_unit_test(test_no_video),
        cmocka_unit_test(test_streams),          cmocka_unit_test(test_no_network),
        cmocka_unit_test(test_too_large),        cmocka_unit_test(test_no_ffmpeg),
        cmocka_unit_test(test_killed),           cmocka_unit_test(test_hangs),
        cmocka_unit_test(test_reader_killed),
        cmocka_unit_test(test_strange_ffmpeg),   cmocka_unit_test(test_versions),
        cmocka_unit_test(test_pixels_first),     cmocka_unit_test(test_ends_early),
        cmocka_unit_test(test_interrupted),      cmocka_unit_test(test_nothing_is_left),
    };
    video_begin();
    files_before = open_files();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    video_finish();
    return failed;
}
