/* each_case: runs every case of the kernel tests in a process of its own, so that one that hangs or crashes is named
   and the others still run.

     cc -O2 -std=c99 -D_GNU_SOURCE each_case.c -o each_case
     ./each_case [OPTION]... --out FILE [NAME=VALUE | PROGRAM]...
         --seconds N     limit for a case (20)
         --total N       no case begins after N seconds; the remaining ones are skipped (default: no limit)
         --jobs N        cases that run at the same time (4)
         --hangs N       after N hung cases, the other cases of that kernel are skipped (6)
         --match TEXT    only cases whose name contains this text
         --in FOLDER     run there; the programs read reid_kernels.cu from their working directory

   A PROGRAM is one of tests/gpu/kernels_*.c: with EMU_LIST in the environment it names its cases, with EMU_CASE it runs
   one. NAME=VALUE is set in the environment of the programs after it: HALVES=bf16 turns FP16 kernels into bf16 kernels,
   which are counted separately. A line of JSON is appended to FILE as soon as each case ends, so no result is lost if
   this is stopped. A table goes to stdout. Exit status: 0 if every case is right, 1 if some are not, 2 on wrong
   usage. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_JOBS = 64, NAME = 200, SAID = 600, LIST_SECONDS = 60 };
typedef enum { OK, WRONG, FAULT, CRASHED, HUNG, SKIPPED, STATUSES } status;
static const char *const words[] = {"ok", "wrong", "fault", "crashed", "hung", "skipped"};

typedef struct one_case {
    const char *program, *setting; /* setting: NAME=VALUE, or NULL */
    int number;
    char name[NAME];
    status status;
} one_case;

typedef struct job {
    pid_t process; /* 0: none */
    one_case *of;
    FILE *said;
    double began;
    int late;
} job;

typedef struct settings {
    double seconds, total, began; /* total 0: no limit */
    int jobs, hangs, out;
    const char *match, *folder;
} settings;

static job jobs[MOST_JOBS];
static one_case *cases;
static size_t case_count;
static volatile sig_atomic_t stopped;

static void stop(int signal_number) { stopped = signal_number; }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what) {
    fprintf(stderr, "each_case: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* Starts the program with its setting and one more variable in the environment, in a process group of its own, with its
   output in a file. */
static void start(job *j, const settings *s, const char *program, const char *setting, const char *variable,
                  const char *value) {
    j->said = tmpfile();
    if (!j->said) die("a temporary file");
    j->began = now(), j->late = 0;
    fflush(NULL);
    j->process = fork();
    if (j->process < 0) die("fork");
    if (j->process > 0) return;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* in case this program is killed before it can stop the child */
    setenv(variable, value, 1);
    if (setting) putenv(strdup(setting));
    dup2(fileno(j->said), 1), dup2(fileno(j->said), 2);
    if (s->folder && chdir(s->folder) != 0) _exit(126);
    execl(program, program, (char *)NULL);
    _exit(127);
}

/* 1 when the job has ended. Kills a job that takes too long, with everything that it started. */
static int ended(job *j, double limit, int *how) {
    if (!j->late && now() - j->began > limit) j->late = 1, kill(-j->process, SIGKILL), kill(j->process, SIGKILL);
    return waitpid(j->process, how, WNOHANG) == j->process;
}

static void pause_a_little(void) {
    const struct timespec t = {0, 5000000};
    nanosleep(&t, NULL);
}

/* ---- the list of cases ---- */

static void add_case(const char *program, const char *setting, const char *line) {
    int at = 0, number;
    if (sscanf(line, "case %d %n", &number, &at) != 1 || !at) return;
    if (case_count % 256 == 0) {
        one_case *more = (one_case *)realloc(cases, (case_count + 256) * sizeof *cases);
        if (!more) die("cases");
        cases = more;
    }
    one_case *c = &cases[case_count++];
    memset(c, 0, sizeof *c);
    c->program = program, c->setting = setting, c->number = number;
    snprintf(c->name, sizeof c->name, "%.*s", (int)strcspn(line + at, "\n"), line + at);
}

static void list_cases(const settings *s, const char *program, const char *setting) {
    char line[512];
    size_t before = case_count;
    int how = 0;
    job *j = &jobs[0];
    start(j, s, program, setting, "EMU_LIST", "1");
    while (!ended(j, LIST_SECONDS, &how)) pause_a_little();
    j->process = 0;
    rewind(j->said);
    while (fgets(line, sizeof line, j->said))
        if (!s->match || strstr(line, s->match)) add_case(program, setting, line);
        else if (!strncmp(line, "case ", 5)) before = (size_t)-1; /* it has cases, but --match excludes them */
    fclose(j->said);
    if (case_count != before) return;
    add_case(program, setting, "case 0 (its list of cases)");
    cases[case_count - 1].status = j->late ? HUNG : CRASHED;
}

/* ---- results ---- */

/* 1 for a result within its tolerance but with unexpected bits, which is worth a note. */
static int has_other_bits(const char *said) {
    const char *at = strstr(said, ", other bits in ");
    return at && !strstr(at, ", other bits in 0 of ");
}

/* Copies the first failed check or other finding, and the last line of the output. */
static void last_words(FILE *from, char said[SAID]) {
    char line[400], failed[SAID] = "", last[400] = "";
    rewind(from);
    while (fgets(line, sizeof line, from)) {
        snprintf(last, sizeof last, "%s", line);
        int tells = strstr(line, " failed: ") || strstr(line, ": kernel ") || has_other_bits(line);
        if (!failed[0] && tells) snprintf(failed, SAID, "%s", line);
    }
    snprintf(said, SAID, "%s%s", failed, strcmp(failed, last) ? last : "");
}

/* A line from NEED is a driver error, one from CHECK a wrong result. */
static status status_of(const job *j, int how, const char *said) {
    if (j->late) return HUNG;
    if (WIFSIGNALED(how) || WEXITSTATUS(how) > 1) return CRASHED;
    if (WEXITSTATUS(how) == 0) return OK;
    return strstr(said, " failed: ") ? WRONG : FAULT;
}

/* Adds text as a JSON string to the line; text that does not fit is left out. */
static void quote(char *line, size_t size, const char *text) {
    size_t at = strlen(line);
    if (at + 3 > size) return;
    line[at++] = '"';
    for (; *text && at + 8 < size; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') line[at++] = '\\', line[at++] = (char)c;
        else if (c < 32 || c > 126) at += (size_t)snprintf(line + at, 7, "\\u%04x", c);
        else line[at++] = (char)c;
    }
    line[at++] = '"', line[at] = 0;
}

/* Writes one line in a single write, so that it is never incomplete. */
static void note(const settings *s, const one_case *c, double seconds, const char *said) {
    char line[8 * SAID];
    const char *slash = strrchr(c->program, '/');
    snprintf(line, sizeof line, "{\"program\": ");
    quote(line, sizeof line, slash ? slash + 1 : c->program);
    if (c->setting) {
        strcat(line, ", \"setting\": ");
        quote(line, sizeof line - 16, c->setting);
    }
    snprintf(line + strlen(line), 80, ", \"case\": %d, \"status\": \"%s\", \"seconds\": %.2f, \"name\": ", c->number,
             words[c->status], seconds);
    quote(line, sizeof line - 16, c->name);
    strcat(line, ", \"said\": ");
    quote(line, sizeof line - 16, c->status == OK && !has_other_bits(said) ? "" : said);
    strcat(line, "}\n");
    if (write(s->out, line, strlen(line)) != (ssize_t)strlen(line)) die("writing the results");
    if (c->status != OK && c->status != SKIPPED) printf("%-8s %s\n%s", words[c->status], c->name, said), fflush(stdout);
}

/* 1 for cases of the same kernel: the first word of their names and their setting are equal. */
static int same_kernel(const one_case *a, const one_case *b) {
    size_t n = strcspn(a->name, " ");
    return a->setting == b->setting && strcspn(b->name, " ") == n && strncmp(a->name, b->name, n) == 0;
}

static int count_of(const one_case *like, int of) {
    int n = 0;
    for (size_t i = 0; i < case_count; i++) n += same_kernel(&cases[i], like) && (of < 0 || (int)cases[i].status == of);
    return n;
}

/* ---- running ---- */

static void finish(const settings *s, job *j, int how) {
    char said[SAID];
    last_words(j->said, said);
    fclose(j->said);
    j->of->status = status_of(j, how, said);
    note(s, j->of, now() - j->began, said);
    j->process = 0;
}

static void stop_all(void) {
    for (int i = 0; i < MOST_JOBS; i++)
        if (jobs[i].process > 0) kill(-jobs[i].process, SIGKILL), kill(jobs[i].process, SIGKILL);
    fprintf(stderr, "each_case: stopped by signal %d\n", (int)stopped);
    exit(1);
}

/* Starts cases while there is room. Returns how many run. */
static int fill(const settings *s, size_t *next) {
    int running = 0;
    for (int i = 0; i < s->jobs; i++) {
        job *j = &jobs[i];
        while (!j->process && *next < case_count) {
            one_case *c = &cases[(*next)++];
            char number[16];
            if (c->status != OK) { /* its program did not list its cases */
                note(s, c, 0, "it does not name its cases");
                continue;
            }
            const char *why = count_of(c, HUNG) >= s->hangs             ? "too many cases of this kernel hung"
                              : s->total > 0 && now() - s->began > s->total ? "no time was left"
                                                                            : NULL;
            if (why) {
                c->status = SKIPPED;
                note(s, c, 0, why);
                continue;
            }
            snprintf(number, sizeof number, "%d", c->number);
            j->of = c;
            start(j, s, c->program, c->setting, "EMU_CASE", number);
        }
        running += j->process != 0;
    }
    return running;
}

static void run_all(const settings *s) {
    size_t next = 0;
    int how;
    while (fill(s, &next) > 0) {
        for (int i = 0; i < s->jobs; i++)
            if (jobs[i].process && ended(&jobs[i], s->seconds, &how)) finish(s, &jobs[i], how);
        if (stopped) stop_all();
        pause_a_little();
    }
}

/* Prints a line for each kernel. Returns 1 if every case was right. */
static int summary(void) {
    int good = case_count > 0;
    for (size_t i = 0; i < case_count; i++) {
        int first = 1, all = count_of(&cases[i], -1);
        for (size_t k = 0; k < i && first; k++) first = !same_kernel(&cases[i], &cases[k]);
        if (!first) continue;
        printf("%-18.*s %3d of %3d cases right", (int)strcspn(cases[i].name, " "), cases[i].name,
               count_of(&cases[i], OK), all);
        for (int k = WRONG; k < STATUSES; k++)
            if (count_of(&cases[i], k)) printf(", %d %s", count_of(&cases[i], k), words[k]);
        printf(cases[i].setting ? " with %s\n" : "\n", cases[i].setting);
        good &= count_of(&cases[i], OK) == all;
    }
    if (!case_count) printf("there are no such cases\n");
    return good;
}

static int usage(void) {
    fprintf(stderr, "usage: each_case [--seconds N] [--total N] [--jobs N] [--hangs N] [--match TEXT] [--in FOLDER] "
                    "--out FILE [NAME=VALUE | PROGRAM]...\n");
    return 2;
}

int main(int argc, char **argv) {
    settings s = {20, 0, now(), 4, 6, -1, NULL, NULL};
    const char *out = NULL, *setting = NULL;
    int at = 1;
    for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
        const char *name = argv[at] + 2, *value = argv[at + 1];
        if (!strcmp(name, "seconds")) s.seconds = atof(value);
        else if (!strcmp(name, "total")) s.total = atof(value);
        else if (!strcmp(name, "jobs")) s.jobs = atoi(value);
        else if (!strcmp(name, "hangs")) s.hangs = atoi(value);
        else if (!strcmp(name, "match")) s.match = value;
        else if (!strcmp(name, "in")) s.folder = value;
        else if (!strcmp(name, "out")) out = value;
        else return usage();
    }
    if (!out || at >= argc || !(s.seconds > 0) || s.jobs < 1 || s.jobs > MOST_JOBS || s.hangs < 1) return usage();
    s.out = open(out, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (s.out < 0) die(out);
    const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < 3; i++) signal(signals[i], stop);
    for (; at < argc; at++) {
        if (strchr(argv[at], '=')) {
            setting = argv[at];
            continue;
        }
        const char *program = realpath(argv[at], NULL); /* stays valid in another folder */
        if (!program) die(argv[at]);
        list_cases(&s, program, setting);
    }
    run_all(&s);
    return !summary();
}
