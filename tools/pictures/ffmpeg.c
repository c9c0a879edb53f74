#include "pictures/ffmpeg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- arguments ---------------------------------------------------------------------------------------------------- */

/* A list of arguments of limited length. */
typedef struct arguments {
    char **at;
    int count;
} arguments;

static void add(arguments *a, const char *word) {
    if (a->count < FFMPEG_ARGUMENTS - 1) a->at[a->count++] = (char *)(size_t)word;
    a->at[a->count] = NULL;
}

static void add_all(arguments *a, const char *const *words) {
    while (*words) add(a, *words++);
}

/* Adds one output: every frame of the stream once, at its own size. It uses one thread: with several, the encoder of
   raw frames delays a varying number of them, and ffmpeg would wait for us to read pixels whose size it has not
   reported yet. times: 1 keeps the file's times. */
static void add_output(arguments *a, const ffmpeg_request *r, const char *map, int times) {
    static const char *const base[] = {"-1", "demux", "-1"};
    const char *const words[] = {"-map", map, r->dialect == FFMPEG_4 ? "-vsync" : "-fps_mode", "passthrough",
                                 "-noautoscale", "-flush_packets", "1", "-c:v", "rawvideo", "-threads", "1", NULL};
    add_all(a, words);
    if (times) add(a, "-enc_time_base"), add(a, base[r->dialect]);
}

/* Writes the filters that choose the frames whose pixels are sent, and their windows. A window is cut out after the
   conversion to RGB, which also uses neighbouring pixels, so that its pixels are those of the whole frame. */
static void write_choice(const ffmpeg_request *r, text *out) {
    text_puts(out, "select='"), frame_ranges_expression(r->ranges, r->range_count, out), text_puts(out, "'");
    if (r->windows && r->windows->count) text_puts(out, ",format=rgb24,"), frame_windows_filter(r->windows, out);
}

/* Containers and bare streams, which hold the video themselves. Left out is whatever names other files for ffmpeg to
   open: playlists (hls, dash), scripts (concat, imf), descriptions of a session (sdp), and numbered images (image2),
   whose name alone makes ffmpeg look for others. */
#define CONTAINERS \
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,asf,flv,live_flv,ogg,mxf,gxf,nut,ivf,obu,av1," \
    "h264,hevc,m4v,h263,vc1,dirac,mjpeg,mpjpeg,mjpeg_2000,dv,gif,apng,wtv,dhav,rm,swf,yuv4mpegpipe,cavsvideo,avs2," \
    "avs3,nsv,nuv"

int ffmpeg_arguments(const ffmpeg_request *r, char *argv[FFMPEG_ARGUMENTS], text texts[FFMPEG_TEXTS]) {
    /* ffmpeg opens only this file: it cannot make ffmpeg read others or reach the network. Lines of the log begin with
       their level. */
    static const char *const before[] = {"-nostdin", "-nostats", "-loglevel", "level+info", "-protocol_whitelist",
                                         "file", "-format_whitelist", CONTAINERS, "-i", NULL};
    /* scdet measures how much a frame differs from the previous one; a row and a column of pixels give its size. */
    static const char *const with_cuts[] = {
        "-vf", "scdet,metadata=mode=print:key=lavfi.scd.score:file=pipe\\\\:5:direct=1,"
               "crop=iw:1:0:0:exact=1,format=gray", NULL};
    static const char *const row[] = {
        "-vf", "metadata=mode=add:key=reid:value=0,metadata=mode=print:key=reid:file=pipe\\\\:5:direct=1,"
               "crop=iw:1:0:0:exact=1,format=gray", NULL};
    static const char *const widths[] = {"-f", "framecrc", "pipe:3", NULL};
    static const char *const heights[] = {
        "-vf", "crop=1:ih:0:0:exact=1,transpose,format=gray", "-f", "framecrc", "pipe:4", NULL};
    static const char *const pixels[] = {"-pix_fmt", "rgb24", "-f", "rawvideo", "pipe:1", NULL};
    arguments a = {argv, 0};
    text_printf(&texts[0], "file:%s", r->path); /* neither an option nor an address */
    text_printf(&texts[1], "0:V:%d", r->stream);
    if (r->ranges) write_choice(r, &texts[2]);
    for (int i = 0; i < FFMPEG_TEXTS; i++)
        if (text_failed(&texts[i])) return 0;
    add(&a, r->program ? r->program : "ffmpeg");
    add_all(&a, before);
    add(&a, texts[0].s);
    add_output(&a, r, texts[1].s, 1);
    add_all(&a, r->cuts ? with_cuts : row);
    add_all(&a, widths);
    add_output(&a, r, texts[1].s, 1);
    add_all(&a, heights);
    add_output(&a, r, texts[1].s, 0); /* last, so that a frame's table rows come before its pixels */
    if (r->ranges) add(&a, "-vf"), add(&a, texts[2].s);
    add_all(&a, pixels);
    return 1;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

int ffmpeg_frame_line(const char *line, ffmpeg_frame *f, long long *num, long long *den) {
    long long stream, dts, duration;
    int end = 0;
    if (line[0] == '#') {
        if (strncmp(line, "#tb 0: ", 7) != 0) return 0;
        return sscanf(line + 7, "%18lld/%18lld%n", num, den, &end) == 2 && !line[7 + end] && *num > 0 && *den > 0
                   ? 2 : -1;
    }
    if (sscanf(line, "%18lld, %18lld, %18lld, %18lld, %18lld,%n", &stream, &dts, &f->pts, &duration, &f->size, &end) !=
        5) return -1;
    return end && stream == 0 && f->size > 0 ? 1 : -1;
}

int ffmpeg_number_line(const char *line, long long *number, double *score) {
    static const char *const keys[] = {"lavfi.scd.score=", "reid="};
    int end = 0;
    for (int i = 0; i < 2; i++)
        if (strncmp(line, keys[i], strlen(keys[i])) == 0)
            return parse_real(line + strlen(keys[i]), 0, 1000, score) ? 1 : -1;
    return sscanf(line, "frame:%18lld pts:%n", number, &end) == 1 && end ? 2 : -1;
}

/* --- the log ------------------------------------------------------------------------------------------------------ */

/* Splits "[h264 @ 0x55d0] [error] what": who is "h264 @ 0x55d0", level is "error". Returns "what"; NULL if there is no
   level. */
static const char *split(const char *line, char who[64], char level[16]) {
    who[0] = level[0] = 0;
    while (*line == '[') {
        const char *end = strchr(line, ']');
        size_t n = end ? (size_t)(end - line) - 1 : 0;
        if (!end || end[1] != ' ') return NULL;
        int is_level = !memchr(line, '@', n + 1);
        snprintf(is_level ? level : who, is_level ? 16 : 64, "%.*s", (int)n, line + 1);
        line = end + 2;
        if (is_level) return line;
    }
    return NULL;
}

static void take_info(ffmpeg_log *log, const char *what) {
    int hours, minutes;
    double seconds;
    if (strncmp(what, "ffmpeg version ", 15) == 0 && !log->version.len)
        text_add(&log->version, what + 15, strcspn(what + 15, " "));
    if (strncmp(what, "Stream mapping:", 15) == 0 || strncmp(what, "Output #", 8) == 0) log->in_outputs = 1;
    if (log->in_outputs) return;
    what += strspn(what, " ");
    if (sscanf(what, "Duration: %d:%d:%lf", &hours, &minutes, &seconds) == 3 && hours >= 0)
        log->duration = hours * 3600.0 + minutes * 60.0 + seconds;
    if (strncmp(what, "Stream #0:", 10) != 0) return;
    if (!strstr(what, ": Video: ")) log->others++;
    else if (!strstr(what, "(attached pic)") && !strstr(what, "(timed thumbnails)")) log->videos++;
}

/* 1 if the message is about our outputs, which says nothing about the file. */
static int is_ours(const char *who) {
    static const char *const names[] = {"framecrc", "rawvideo", "out#", "vost#", "swscaler", "Parsed_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(who, names[i], strlen(names[i])) == 0) return 1;
    return 0;
}

void ffmpeg_log_line(ffmpeg_log *log, const char *line) {
    enum { LONGEST = 300 };
    char who[64], level[16];
    const char *what = split(line, who, level), *quoted;
    if (!what) return;
    if (strcmp(level, "info") == 0) take_info(log, what);
    if (strcmp(level, "error") != 0 && strcmp(level, "fatal") != 0 && strcmp(level, "panic") != 0) return;
    if (strncmp(what, "Stream map ", 11) == 0 && strstr(what, "matches no streams")) log->no_stream = 1;
    if (strncmp(what, "Unrecognized option '", 21) == 0 && (quoted = strchr(what + 21, '\'')) && !log->no_option) {
        log->no_option = 1;
        text_add(&log->option, what + 21, (size_t)(quoted - what) - 21);
    }
    if (strncmp(what, "Invalid time base: ", 19) == 0) log->no_time_base = 1;
    /* The second is what ffmpeg 7.1 and newer say of a playlist that has another name. */
    if (strncmp(what, "Format not on whitelist", 23) == 0 || strncmp(what, "Not detecting m3u8/hls", 22) == 0)
        log->not_a_video = 1;
    if (is_ours(who)) return;
    if (!log->complaints++) text_add(&log->first, what, strnlen(what, LONGEST));
}

void ffmpeg_log_free(ffmpeg_log *log) {
    text_free(&log->version), text_free(&log->option), text_free(&log->first);
}
