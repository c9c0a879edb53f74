/* Videos for tests, drawn and encoded by ffmpeg in a folder that is removed with the test. Include it after reid.h. */
#ifndef TEST_VIDEO_H
#define TEST_VIDEO_H

#include "test_util.h"

#include <stdarg.h>
#include <sys/stat.h>

static char video_folder[512]; /* ends in / */

/* Runs a shell command in the folder; its output stays hidden unless it fails. */
TEST_FN int video_shell(const char *format, ...) {
    char command[4096], line[6000];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    snprintf(line, sizeof line, "cd '%s' && { %s ; } >said 2>&1 </dev/null", video_folder, command);
    return system(line) == 0;
}

TEST_FN const char *video_path(const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s%s", video_folder, name);
    return path;
}

/* Makes the folder; ends the test with status 77 where there is no ffmpeg, and none can be installed. */
TEST_FN void video_begin(void) {
    const char *temp = getenv("TMPDIR");
    snprintf(video_folder, sizeof video_folder, "%s/video.XXXXXX", temp ? temp : "/tmp");
    test_need(mkdtemp(video_folder) != NULL, "mkdtemp");
    strcat(video_folder, "/");
    if (system(". tools/setup.sh; (need_packages ffmpeg:ffmpeg) >&2") == 0) return;
    rmdir(video_folder);
    puts("skipped: no ffmpeg here");
    exit(77);
}

TEST_FN void video_finish(void) {
    char line[600];
    snprintf(line, sizeof line, "rm -rf '%s'", video_folder);
    test_need(system(line) == 0, line);
}

/* Runs ffmpeg with these arguments; ends the test if it fails. */
TEST_FN void video_make(const char *format, ...) {
    char arguments[3000];
    va_list args;
    va_start(args, format);
    vsnprintf(arguments, sizeof arguments, format, args);
    va_end(args);
    if (video_shell("ffmpeg -nostdin -v error -y %s", arguments)) return;
    fprintf(stderr, "ffmpeg %s\n", arguments);
    if (system("false") || !video_shell("cat said >&2")) exit(1);
}

/* Copies the first `share` of a file. */
TEST_FN void video_cut_off(const char *from, const char *to, double share) {
    struct stat st;
    test_need(stat(video_path(from), &st) == 0, from);
    test_need(video_shell("head -c %ld '%s' >'%s'", (long)((double)st.st_size * share), from, to), to);
}

/* A script that stands in for ffmpeg. */
TEST_FN const char *video_script(const char *name, const char *body) {
    FILE *file = fopen(video_path(name), "w");
    test_need(file != NULL, name);
    fprintf(file, "#!/bin/sh\n%s\n", body);
    test_need(fclose(file) == 0 && chmod(video_path(name), 0700) == 0, name);
    return video_path(name);
}

#endif
