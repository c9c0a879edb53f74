/* base/child.h for Windows: a job ends the child with this process. The descriptors above stderr go the way that
   Microsoft's C library passes them to a child, which MinGW-w64's programs and ffmpeg understand. */
#include "base/child.h"

#include "windows/names.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

enum { PIPE_BYTES = 1 << 20, HANDLES = CHILD_PIPES + 1 };

/* What child.pid points to. */
typedef struct process {
    HANDLE process, job;
} process;

/* --- the command line --------------------------------------------------------------------------------------------- */

/* Adds an argument in quotation marks. Backslashes before such a mark are doubled ("Parsing C command-line arguments",
   Microsoft). */
static void add_argument(text *line, const char *argument) {
    if (line->len) text_putc(line, ' ');
    text_putc(line, '"');
    for (const char *s = argument; *s;) {
        size_t slashes = strspn(s, "\\"), twice = s[slashes] == '"' || !s[slashes] ? 2 : 1;
        for (size_t i = 0; i < slashes * twice; i++) text_putc(line, '\\');
        s += slashes;
        if (*s == '"') text_putc(line, '\\');
        if (*s) text_putc(line, *s++);
    }
    text_putc(line, '"');
}

static wchar_t *command_line(char *const *argv) {
    text line = TEXT_INIT;
    for (; *argv; argv++) add_argument(&line, *argv);
    wchar_t *wide = text_failed(&line) ? NULL : wide_of(line.s);
    text_free(&line);
    return wide;
}

/* The program's file: the path itself, or the first in PATH, never in the current folder. NULL: not found. */
static wchar_t *program_of(const char *name) {
    wchar_t *wide = wide_of(name), *path = NULL, *found = NULL;
    if (wide && strpbrk(name, "/\\")) {
        free(wide);
        wide = wide_path(name);
        if (wide && GetFileAttributesW(wide) != INVALID_FILE_ATTRIBUTES) return wide;
        free(wide);
        return NULL;
    }
    DWORD room = GetEnvironmentVariableW(L"PATH", NULL, 0), units = 0;
    if (wide && room) path = malloc(room * sizeof *path);
    if (path && GetEnvironmentVariableW(L"PATH", path, room)) units = SearchPathW(path, wide, L".exe", 0, NULL, NULL);
    if (units) found = malloc(((size_t)units + 1) * sizeof *found);
    if (found && !SearchPathW(path, wide, L".exe", units + 1, found, NULL)) free(found), found = NULL;
    free(wide), free(path);
    return found;
}

/* --- pipes -------------------------------------------------------------------------------------------------------- */

/* The ends of pipes that the child gets, and a device that discards everything, for its other descriptors. */
typedef struct ends {
    HANDLE at[CHILD_PIPES], nothing;
} ends;

static void close_handle(HANDLE *h) {
    if (*h) CloseHandle(*h);
    *h = NULL;
}

static int make_pipe(int *from, HANDLE *to) {
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    HANDLE ours;
    if (!CreatePipe(&ours, to, &inherited, PIPE_BYTES)) return *to = NULL, fail_with_errno() + 1;
    SetHandleInformation(ours, HANDLE_FLAG_INHERIT, 0);
    *from = _open_osfhandle((intptr_t)ours, O_RDONLY | O_BINARY | O_NOINHERIT);
    if (*from < 0) CloseHandle(ours), errno = EMFILE;
    return *from >= 0;
}

static int make_ends(child *c, unsigned pipes, ends *e) {
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    HANDLE nothing = CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited,
                                 OPEN_EXISTING, 0, NULL);
    if (nothing == INVALID_HANDLE_VALUE) return fail_with_errno() + 1;
    e->nothing = nothing;
    for (int n = 1; n < CHILD_PIPES; n++)
        if (pipes & 1u << n && !make_pipe(&c->fd[n], &e->at[n])) return 0;
    return 1;
}

/* --- starting ----------------------------------------------------------------------------------------------------- */

/* The descriptors in the form of Microsoft's C library: their number, a byte for each, a handle for each. */
typedef struct descriptors {
    unsigned char bytes[sizeof(int) + CHILD_PIPES * (1 + sizeof(HANDLE))];
} descriptors;

static void list_descriptors(const ends *e, descriptors *d) {
    enum { IS_OPEN = 0x01, IS_PIPE = 0x08, IS_DEVICE = 0x40 }; /* FOPEN, FPIPE, FDEV of its ioinit.c */
    const int count = CHILD_PIPES;
    memset(d, 0, sizeof *d);
    memcpy(d->bytes, &count, sizeof count);
    for (int n = 0; n < CHILD_PIPES; n++) {
        HANDLE h = e->at[n] ? e->at[n] : n < 3 ? e->nothing : INVALID_HANDLE_VALUE;
        const int what = e->at[n] ? IS_OPEN | IS_PIPE : n < 3 ? IS_OPEN | IS_DEVICE : 0;
        d->bytes[sizeof count + (size_t)n] = (unsigned char)what;
        memcpy(d->bytes + sizeof count + CHILD_PIPES + (size_t)n * sizeof h, &h, sizeof h);
    }
}

static HANDLE make_job(void) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits;
    HANDLE job = CreateJobObjectW(NULL, NULL);
    memset(&limits, 0, sizeof limits);
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    if (job) SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
    return job;
}

/* Starts the program with these handles and no others, so that a pipe ends when the child does, whatever other threads
   start. */
static int create(const wchar_t *program, wchar_t *line, const ends *e, process *p) {
    enum { MOST_ATTRIBUTE_BYTES = 256 };
    const DWORD how = CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP | EXTENDED_STARTUPINFO_PRESENT;
    char room[MOST_ATTRIBUTE_BYTES] __attribute__((aligned(16)));
    HANDLE given[HANDLES];
    SIZE_T size = sizeof room, count = 0;
    PROCESS_INFORMATION started;
    STARTUPINFOEXW start;
    descriptors all;
    list_descriptors(e, &all);
    given[count++] = e->nothing;
    for (int n = 0; n < CHILD_PIPES; n++)
        if (e->at[n]) given[count++] = e->at[n];
    memset(&start, 0, sizeof start);
    start.StartupInfo.cb = sizeof start;
    start.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    start.StartupInfo.hStdInput = e->nothing;
    start.StartupInfo.hStdOutput = e->at[1] ? e->at[1] : e->nothing;
    start.StartupInfo.hStdError = e->at[2] ? e->at[2] : e->nothing;
    start.StartupInfo.lpReserved2 = all.bytes, start.StartupInfo.cbReserved2 = sizeof all.bytes;
    start.lpAttributeList = (LPPROC_THREAD_ATTRIBUTE_LIST)room;
    if (!InitializeProcThreadAttributeList(start.lpAttributeList, 1, 0, &size)) return fail_with_errno() + 1;
    int good = UpdateProcThreadAttribute(start.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, given,
                                         count * sizeof *given, NULL, NULL) &&
               CreateProcessW(program, line, NULL, NULL, TRUE, how, NULL, NULL, &start.StartupInfo, &started);
    if (!good) fail_with_errno();
    DeleteProcThreadAttributeList(start.lpAttributeList);
    if (!good) return 0;
    p->process = started.hProcess;
    p->job = make_job();
    if (p->job) AssignProcessToJobObject(p->job, started.hProcess);
    ResumeThread(started.hThread);
    CloseHandle(started.hThread);
    return 1;
}

/* Returns 0 with errno set. */
static int start(child *c, char *const *argv, const ends *e, int *missing) {
    wchar_t *program = program_of(argv[0]), *line = program ? command_line(argv) : NULL;
    process *p = line ? calloc(1, sizeof *p) : NULL;
    *missing = !program;
    if (!program) errno = ENOENT;
    else if (!p) errno = ENOMEM;
    int good = p && create(program, line, e, p);
    if (good) c->pid = (pid_t)(intptr_t)p;
    else free(p);
    free(program), free(line);
    return good;
}

int child_start(child *c, char *const *argv, unsigned pipes, int *missing, text *why) {
    ends e = {{NULL}, NULL};
    c->pid = 0;
    *missing = 0;
    for (int n = 0; n < CHILD_PIPES; n++) c->fd[n] = -1;
    int good = make_ends(c, pipes, &e) && start(c, argv, &e, missing), error = errno;
    for (int n = 0; n < CHILD_PIPES; n++) close_handle(&e.at[n]);
    close_handle(&e.nothing);
    if (good) return 1;
    text_clear(why);
    text_printf(why, "cannot start it: %s", strerror(error));
    child_end(c, 0);
    return 0;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

void child_close(child *c, int n) {
    if (c->fd[n] >= 0) close(c->fd[n]);
    c->fd[n] = -1;
}

int child_end(child *c, double seconds) {
    enum { KILLED = 137 }; /* as shells report it */
    process *p = (process *)(intptr_t)c->pid;
    DWORD status = 0;
    if (c->pid == 0 && c->fd[0] == 0) return 0; /* a zeroed child has no descriptors */
    for (int n = 0; n < CHILD_PIPES; n++) child_close(c, n);
    if (!p) return 0;
    if (WaitForSingleObject(p->process, (DWORD)(seconds * 1000)) != WAIT_OBJECT_0) {
        if (p->job) TerminateJobObject(p->job, KILLED);
        else TerminateProcess(p->process, KILLED);
        WaitForSingleObject(p->process, INFINITE);
    }
    GetExitCodeProcess(p->process, &status);
    CloseHandle(p->process);
    close_handle(&p->job);
    free(p);
    c->pid = 0;
    return (int)status;
}
