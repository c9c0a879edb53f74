#include "pictures/video.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/library.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/source.h"
#include "pictures/ffmpeg.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ffmpeg writes to five pipes at once, and waits if one of them is full. All are read as they fill, but only for the
   current frame and a few that follow, so that memory does not grow with the video: the pixels of one frame, AHEAD rows
   of each table, and lines of LINE bytes.

   ffmpeg may write a frame's table rows before or after its pixels, and must not wait for us while we wait for it. If
   only pixels come while the frame's size is still unknown, they are read anyway, CHUNK by CHUNK, up to the size of the
   previous frame, and beyond it only after a pause in which nothing else came. */
enum { AHEAD = 64, LINE = 4096, CHUNK = 1 << 18, FIRST_FRAME = 1 << 25 };

/* The lines from one pipe. */
typedef struct lines {
    char bytes[LINE];
    size_t held, done; /* bytes held; of these, bytes before the next line */
    int skipping;      /* 1: skip the rest of a line that was too long */
} lines;

/* Rows of a table that were read before their frames. */
typedef struct table {
    lines in;
    ffmpeg_frame row[AHEAD];
    double score[AHEAD];
    size_t first, count;
    long long num, den; /* time base; 0: unknown so far */
} table;

struct video {
    video_request r;
    ffmpeg_dialect dialect;
    child ffmpeg;
    ffmpeg_log log;
    lines log_lines;
    table tables[FFMPEG_PIPES]; /* widths, heights, numbers */
    frame_range *ranges;        /* [range_count]: frames whose pixels are requested; NULL: all */
    size_t range_count, range;  /* range: the first that does not end before the current frame */
    frame_windows windows;      /* the requested parts of these frames; none: all */
    uint32_t sent;              /* how many frames came with pixels before the current one */
    size_t told, odd;           /* frames that were numbered; the first with a wrong number */
    int again;                  /* 1: read the file again, with all pixels ... */
    size_t skip;                /* ... and skip this many frames, which were handed out */
    unsigned char *rgb;
    size_t room, need, got;     /* bytes of rgb: allocated; of this frame (0: unknown); read */
    size_t blind, whole;        /* bytes that may be read while need is unknown; bytes of the last frame with pixels */
    int known;                  /* 1: the current frame's size, and whether it has pixels, are known */
    video_frame frame;          /* the current frame */
    size_t frames;              /* frames handed out or ready */
    int width, height;          /* of the previous frame */
    int ready;                  /* 1: a frame was read but not handed out yet */
    double asked;               /* when reading of the current frame began */
    double last, longest;       /* seconds: time of the last frame; the longest time between two frames */
    video_end end;
    text why;
};

video_end video_how_it_ended(const video *v) { return v->end; }
int video_streams(const video *v) { return v->log.videos; }
const char *video_decoder(const video *v) { return v->log.version.s ? v->log.version.s : "unknown"; }

/* Ends the reading; always returns 0. The caller sets v->why. */
static int end_as(video *v, video_end end) {
    v->end = end;
    return 0;
}

/* --- lines and tables --------------------------------------------------------------------------------------------- */

/* Makes room for more bytes, and drops the beginning of a line that is too long. */
static size_t lines_room(lines *l) {
    if (l->done) {
        memmove(l->bytes, l->bytes + l->done, l->held -= l->done);
        l->done = 0;
    }
    if (l->held == LINE && !memchr(l->bytes, '\n', l->held)) l->held = 0, l->skipping = 1;
    return LINE - l->held;
}

/* Returns the next complete line, ended by a 0; NULL if there is none yet. */
static char *lines_next(lines *l) {
    for (;;) {
        char *line = l->bytes + l->done, *end = memchr(line, '\n', l->held - l->done);
        if (!end) return NULL;
        *end = 0;
        l->done = (size_t)(end + 1 - l->bytes);
        if (!l->skipping) return line;
        l->skipping = 0;
    }
}

static int not_understood(video *v, const char *line) {
    refuse(&v->why, "unexpected output from ffmpeg: %.200s", shown(line));
    return end_as(v, VIDEO_FAILED);
}

/* Parses a table's lines while there is room for its rows. */
static int take_rows(video *v, int pipe) {
    table *t = &v->tables[pipe];
    char *line;
    while (t->count < AHEAD && (line = lines_next(&t->in))) {
        size_t at = (t->first + t->count) % AHEAD;
        long long number = 0;
        int kind = pipe == FFMPEG_NUMBERS ? ffmpeg_number_line(line, &number, &t->score[at])
                                          : ffmpeg_frame_line(line, &t->row[at], &t->num, &t->den);
        if (kind < 0) return not_understood(v, line);
        if (pipe == FFMPEG_NUMBERS && kind == 2 && number != (long long)v->told++ && v->odd >= v->told)
            v->odd = v->told - 1;
        t->count += kind == 1;
    }
    return 1;
}

static void drop_row(table *t) {
    t->first = (t->first + 1) % AHEAD;
    t->count--;
}

/* --- pipes -------------------------------------------------------------------------------------------------------- */

/* Reads the available bytes; closes a pipe at its end. */
static int read_lines(video *v, int pipe, lines *l) {
    size_t room = lines_room(l);
    ssize_t n = room ? read(v->ffmpeg.fd[pipe], l->bytes + l->held, room) : -1;
    if (n > 0) l->held += (size_t)n;
    if (n > 0 && memchr(l->bytes, 0, l->held)) return not_understood(v, "a zero byte");
    if (n == 0) child_close(&v->ffmpeg, pipe);
    return 1;
}

static int read_log(video *v) {
    char *line;
    if (!read_lines(v, FFMPEG_LOG, &v->log_lines)) return 0;
    while ((line = lines_next(&v->log_lines))) ffmpeg_log_line(&v->log, line);
    return 1;
}

/* Makes room for `bytes` bytes of pixels, and keeps those that were read. */
static int make_room(video *v, size_t bytes) {
    if (bytes <= v->room) return 1;
    unsigned char *rgb = mem_alloc(bytes);
    if (!rgb) return text_no_memory(&v->why), end_as(v, VIDEO_FAILED);
    if (v->got) memcpy(rgb, v->rgb, v->got);
    free(v->rgb);
    v->rgb = rgb;
    v->room = bytes;
    return 1;
}

static int read_pixels(video *v) {
    size_t end = v->need ? v->need : v->blind - v->got < CHUNK ? v->blind : v->got + CHUNK;
    if (!make_room(v, end)) return 0;
    ssize_t n = read(v->ffmpeg.fd[FFMPEG_PIXELS], v->rgb + v->got, end - v->got);
    if (n > 0) v->got += (size_t)n;
    if (n == 0) child_close(&v->ffmpeg, FFMPEG_PIXELS);
    return 1;
}

static int read_pipe(video *v, int pipe) {
    if (pipe == FFMPEG_PIXELS) return read_pixels(v);
    if (pipe == FFMPEG_LOG) return read_log(v);
    return read_lines(v, pipe, &v->tables[pipe].in) && take_rows(v, pipe);
}

/* 1 if there is room for more from this pipe. */
static int wanted(video *v, int pipe) {
    if (v->ffmpeg.fd[pipe] < 0) return 0;
    if (pipe == FFMPEG_PIXELS) return v->got < (v->need ? v->need : v->blind);
    return lines_room(pipe == FFMPEG_LOG ? &v->log_lines : &v->tables[pipe].in) > 0;
}

/* The most bytes that one frame may have. */
static size_t most_bytes(const video *v) {
    const long long most = (long long)1 << 40;
    return 3 * (size_t)(v->r.max_pixels ? v->r.max_pixels : most);
}

/* Waits for output and reads it. Returns 0 if no more can come or the reading has ended. */
static int hear(video *v) {
    enum { MOMENT = 100 }; /* milliseconds between checks for a signal */
    struct pollfd polls[FFMPEG_PIPES];
    int pipes[FFMPEG_PIPES], n = 0;
    for (int pipe = FFMPEG_PIXELS; pipe < FFMPEG_PIPES; pipe++)
        if (wanted(v, pipe)) pipes[n] = pipe, polls[n++] = (struct pollfd){v->ffmpeg.fd[pipe], POLLIN, 0};
    if (!n) return 0;
    int some = poll(polls, (nfds_t)n, MOMENT);
    if (interrupted()) return end_as(v, VIDEO_INTERRUPTED);
    for (int i = 0; i < n && some > 0; i++) {
        int blindly = pipes[i] == FFMPEG_PIXELS && !v->need && some > 1; /* need may be known after this round */
        if (polls[i].revents && !blindly && !read_pipe(v, pipes[i])) return 0;
    }
    if (some == 0 && !v->need && v->blind < most_bytes(v)) v->blind += v->blind < CHUNK ? CHUNK : v->blind;
    if (clock_seconds() - v->asked < v->r.timeout) return 1;
    refuse(&v->why, "ffmpeg sent no frame for %g seconds", v->r.timeout);
    return end_as(v, VIDEO_BROKEN_OFF);
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

static int too_large(video *v) {
    refuse(&v->why, "a frame has %d x %d pixels, more than --max-pixels %lld", v->frame.width,
           v->frame.height, v->r.max_pixels);
    return end_as(v, VIDEO_FAILED);
}

/* Makes room for the pixels of the current frame, whose size is now known. */
static int expect_pixels(video *v) {
    reid_box *part = &v->frame.part;
    if (3 * (size_t)v->frame.width * (size_t)v->frame.height > most_bytes(v)) return too_large(v); /* each up to 2^20 */
    *part = (reid_box){0, 0, v->frame.width, v->frame.height};
    if (v->ranges && v->windows.count)
        *part = frame_windows_place(&v->windows, v->sent, v->frame.width, v->frame.height);
    v->sent++;
    v->need = v->whole = 3 * (size_t)part->width * (size_t)part->height;
    return make_room(v, v->need);
}

/* 1 if ffmpeg sends pixels of frame v->frames. */
static int has_pixels(video *v) {
    if (!v->ranges) return 1;
    while (v->range < v->range_count && v->ranges[v->range].last < v->frames) v->range++;
    return v->range < v->range_count && v->ranges[v->range].first <= v->frames;
}

/* If the tables have the current frame: sets its size and time, and makes room for its pixels. */
static int learn_frame(video *v) {
    table *widths = &v->tables[FFMPEG_WIDTHS], *heights = &v->tables[FFMPEG_HEIGHTS];
    table *numbers = &v->tables[FFMPEG_NUMBERS];
    if (v->known || !widths->count || !heights->count || !numbers->count) return 1;
    if (v->ranges && v->odd <= v->frames) { /* if the numbering restarts, ranges choose the wrong frames */
        v->again = 1;
        return 0;
    }
    const ffmpeg_frame *w = &widths->row[widths->first], *h = &heights->row[heights->first];
    if (!widths->num || w->pts != h->pts || w->size > 1 << 20 || h->size > 1 << 20)
        return not_understood(v, "an inconsistent frame size");
    v->frame.index = v->frames;
    v->frame.pts = w->pts, v->frame.num = widths->num, v->frame.den = widths->den;
    v->frame.seconds = (double)w->pts * (double)widths->num / (double)widths->den;
    v->frame.width = (int)w->size, v->frame.height = (int)h->size;
    memset(&v->frame.part, 0, sizeof v->frame.part);
    int resized = v->frames && (v->frame.width != v->width || v->frame.height != v->height);
    v->frame.cut = resized || (v->frames && v->r.cut > 0 && numbers->score[numbers->first] >= v->r.cut);
    drop_row(widths), drop_row(heights), drop_row(numbers);
    v->known = 1;
    return has_pixels(v) ? expect_pixels(v) : 1;
}

/* Reads one whole frame, with its pixels in v->rgb if they are sent. Returns 0 if there is none, for any reason. */
static int read_frame(video *v) {
    v->got -= v->need; /* the previous frame's; the rest belongs to this one */
    if (v->got) memmove(v->rgb, v->rgb + v->need, v->got);
    v->blind = v->whole ? v->whole : FIRST_FRAME;
    if (v->blind < v->got) v->blind = v->got;
    v->need = 0;
    v->known = 0;
    v->asked = clock_seconds();
    do {
        for (int pipe = FFMPEG_WIDTHS; pipe <= FFMPEG_NUMBERS; pipe++)
            if (!take_rows(v, pipe)) return 0; /* there may now be room for rows in lines that were read before */
        if (!learn_frame(v)) return 0;
        if (v->known && v->got >= v->need) {
            v->width = v->frame.width, v->height = v->frame.height;
            v->frame.rgb = v->need ? v->rgb : NULL;
            if (v->frames && v->frame.seconds - v->last > v->longest) v->longest = v->frame.seconds - v->last;
            v->last = v->frame.seconds;
            v->frames++;
            return 1;
        }
    } while (hear(v));
    return 0;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* Returns 1 with the reason if ffmpeg was killed or failed; 0 if it succeeded. */
static int ended_badly(video *v, int status) {
    const char *said = v->log.first.len ? shown(v->log.first.s) : "no reason given";
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (WIFSIGNALED(status)) refuse(&v->why, "ffmpeg was killed by signal %d", WTERMSIG(status));
    else refuse(&v->why, "ffmpeg failed: %s", said);
    return 1;
}

/* 1 if the last frame comes well before the declared duration, which is the video's if the file has only video. If the
   index is truncated, decoders notice only the early end. */
static int ends_early(const video *v) {
    double missing = v->log.duration - v->last;
    return v->log.videos == 1 && !v->log.others && missing > 1 && missing > v->log.duration / 10 &&
           missing > 2 * v->longest;
}

/* Sets the end and its reason after all pipes have ended. */
static void conclude(video *v) {
    enum { PATIENCE = 10 }; /* seconds for ffmpeg to exit after its last output */
    int status = child_end(&v->ffmpeg, PATIENCE);
    text_clear(&v->why);
    v->end = ended_badly(v, status) ? VIDEO_BROKEN_OFF : VIDEO_DAMAGED;
    if (v->end == VIDEO_BROKEN_OFF) return;
    if (v->log.complaints > 1)
        refuse(&v->why, "ffmpeg reports: %s (and %zu more)", shown(v->log.first.s), v->log.complaints - 1);
    else if (v->log.complaints) refuse(&v->why, "ffmpeg reports: %s", shown(v->log.first.s));
    else if (v->need || v->got) refuse(&v->why, "it ends in the middle of a frame");
    else if (ends_early(v))
        refuse(&v->why, "it should last %.1f seconds, but its last frame is at %.1f", v->log.duration, v->last);
    else v->end = VIDEO_WHOLE;
}

/* --- starting ffmpeg ---------------------------------------------------------------------------------------------- */

/* Resets everything after an ffmpeg that did not accept our arguments. */
static void start_over(video *v) {
    child_end(&v->ffmpeg, 0);
    ffmpeg_log_free(&v->log);
    text_clear(&v->why);
    memset(&v->log, 0, sizeof v->log);
    memset(&v->log_lines, 0, sizeof v->log_lines);
    memset(v->tables, 0, sizeof v->tables);
    v->need = v->got = v->told = v->frames = v->range = 0;
    v->known = v->again = 0;
    v->sent = 0;
    v->odd = SIZE_MAX;
    v->last = v->longest = 0;
    v->end = VIDEO_GOING;
}

static int launch(video *v, text *why) {
    enum { PIPE = 1 << 20 }; /* bytes that ffmpeg may be ahead, if the system allows it */
    const unsigned tables = 1u << FFMPEG_WIDTHS | 1u << FFMPEG_HEIGHTS | 1u << FFMPEG_NUMBERS;
    const unsigned pipes = 1u << FFMPEG_PIXELS | 1u << FFMPEG_LOG | tables;
    const ffmpeg_request request = {v->r.program, v->r.path, v->r.stream,    v->r.cut > 0,
                                    v->dialect,   v->ranges, v->range_count, &v->windows};
    char *argv[FFMPEG_ARGUMENTS];
    text texts[FFMPEG_TEXTS] = {TEXT_INIT, TEXT_INIT, TEXT_INIT}, reason = TEXT_INIT;
    int missing = 0, good = ffmpeg_arguments(&request, argv, texts) || text_no_memory(&reason);
    good = good && child_start(&v->ffmpeg, argv, pipes, &missing, &reason);
    if (good) fcntl(v->ffmpeg.fd[FFMPEG_PIXELS], F_SETPIPE_SZ, PIPE);
    if (!good) {
        text_clear(why);
        if (missing && !v->r.program)
            text_puts(why, "ffmpeg, which decodes videos, was not found: install it ("
                           HELP_HERE("Debian and Ubuntu: apt-get install ffmpeg", "brew install ffmpeg",
                                     "ffmpeg.exe must be in PATH")
                           "), or name one with --ffmpeg");
        else text_printf(why, "%s: %s", v->r.program ? v->r.program : "ffmpeg", reason.s);
    }
    for (int i = 0; i < FFMPEG_TEXTS; i++) text_free(&texts[i]);
    text_free(&reason);
    return good;
}

/* Reads the file again, with all pixels, up to the current frame. */
static int read_again(video *v) {
    text why = TEXT_INIT;
    v->skip = v->frames;
    start_over(v);
    free(v->ranges);
    v->ranges = NULL;
    int good = launch(v, &why);
    if (!good) text_join(&v->why, &why), end_as(v, VIDEO_FAILED);
    text_free(&why);
    while (good && v->frames <= v->skip) good = read_frame(v);
    return good;
}

/* Reads the next frame to v->frame. Returns 0 with v->end and v->why. */
static int advance(video *v) {
    if (v->end != VIDEO_GOING) return 0;
    if (read_frame(v) || (v->again && read_again(v))) return 1;
    if (v->end == VIDEO_GOING) conclude(v);
    return 0;
}

/* --- the interface ------------------------------------------------------------------------------------------------ */

/* 1 if ffmpeg failed because of our dialect and there is another one, which is set. */
static int another_dialect(video *v) {
    if (v->end != VIDEO_BROKEN_OFF) return 0;
    if (v->dialect == FFMPEG_5 && v->log.no_time_base) v->dialect = FFMPEG_9;
    else if (v->dialect == FFMPEG_5 && v->log.no_option && strcmp(v->log.option.s, "fps_mode") == 0)
        v->dialect = FFMPEG_4;
    else return 0;
    return 1;
}

/* Computes the ranges and windows to request from ffmpeg. Returns 0 if memory runs out. */
static int choose_frames(video *v) {
    const video_request *r = &v->r;
    v->windows.parts = r->parts;
    return !r->wanted || (frame_ranges_of(r->wanted, r->wanted_count, FRAME_RANGES, &v->ranges, &v->range_count) &&
                          (!r->areas || frame_windows_of(r->wanted, r->areas, r->wanted_count, v->ranges,
                                                         v->range_count, FRAME_WINDOWS, &v->windows)));
}

/* Writes why there is no frame at all. */
static void explain(const video *v, text *why) {
    text_clear(why);
    if (v->end == VIDEO_INTERRUPTED) return;
    if (v->log.no_option || v->log.no_time_base)
        text_printf(why, "ffmpeg %s does not support what is needed (%s); install 4.4 or newer", video_decoder(v),
                    v->log.no_option ? v->log.option.s : "enc_time_base");
    else if (v->log.not_a_video)
        text_puts(why, "it is not a video, but a playlist, a script, an image sequence or another file that can name "
                       "files to open; give the videos themselves");
    else if (v->log.no_stream && v->log.videos)
        text_printf(why, "it has no video stream %d; it has %d, numbered from 0", v->r.stream, v->log.videos);
    else if (v->log.no_stream) text_puts(why, "it contains no video");
    else if (v->end == VIDEO_WHOLE) text_puts(why, "it has no frames");
    else text_join(why, &v->why);
}

/* Reports what is wrong with a path more plainly than ffmpeg. */
static int file_is_there(const char *path, text *why) {
    struct stat st;
    source file = {0};
    text_clear(why);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return refuse(why, "is a folder, not a video");
    if (!source_open(&file, path, why)) return 0;
    source_close(&file);
    return 1;
}

video *video_open(const video_request *r, text *why) {
    enum { USUAL_TIMEOUT = 60 };
    video *v = file_is_there(r->path, why) ? mem_zeroed(1, sizeof *v) : NULL;
    if (!v) {
        if (!why->len) text_no_memory(why);
        return NULL;
    }
    v->r = *r;
    v->odd = SIZE_MAX;
    if (!(v->r.timeout > 0)) v->r.timeout = USUAL_TIMEOUT;
    if (!choose_frames(v)) {
        text_no_memory(why);
        video_close(v);
        return NULL;
    }
    while (launch(v, why)) {
        v->ready = advance(v);
        if (v->ready) return v;
        if (!another_dialect(v)) {
            explain(v, why);
            break;
        }
        start_over(v);
    }
    video_close(v);
    return NULL;
}

int video_next(video *v, video_frame *frame, text *why) {
    int have = v->ready || advance(v);
    v->ready = 0;
    if (have) {
        *frame = v->frame;
        return 1;
    }
    text_clear(why);
    if (v->end == VIDEO_WHOLE) return 0;
    text_join(why, &v->why);
    return -1;
}

void video_close(video *v) {
    if (!v) return;
    child_end(&v->ffmpeg, 0);
    ffmpeg_log_free(&v->log);
    text_free(&v->why);
    free(v->ranges);
    free(v->windows.at);
    free(v->rgb);
    free(v);
}
