/* The machine, the user, the environment, signals, and waiting for pipes. */
#include "base/resident.h"
#include "windows/names.h"

#include <poll.h>
#include <pwd.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <bcrypt.h>
#include <psapi.h>
#undef getenv
#undef signal

/* --- CPUs and memory ---------------------------------------------------------------------------------------------- */

int windows_affinity(windows_cpus *set) {
    DWORD_PTR mine = 0, all = 0;
    int good = GetProcessAffinityMask(GetCurrentProcess(), &mine, &all);
    set->mask = mine;
    return good ? 0 : -1;
}

long windows_sysconf(int name) {
    SYSTEM_INFO system;
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    GetSystemInfo(&system);
    if (name == _SC_PAGESIZE) return (long)system.dwPageSize;
    if (name == _SC_NPROCESSORS_ONLN) return (long)system.dwNumberOfProcessors;
    if (!GlobalMemoryStatusEx(&memory)) return 0;
    return (long)((name == _SC_PHYS_PAGES ? memory.ullTotalPhys : memory.ullAvailPhys) / system.dwPageSize);
}

size_t mem_resident(void) {
    PROCESS_MEMORY_COUNTERS memory = {.cb = sizeof memory};
    return K32GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory) ? memory.WorkingSetSize : 0;
}

int statvfs(const char *path, struct statvfs *disk) {
    ULARGE_INTEGER mine;
    wchar_t *wide = wide_path(path);
    if (!wide) return -1;
    int good = GetDiskFreeSpaceExW(wide, &mine, NULL, NULL);
    free(wide);
    if (!good) return fail_with_errno();
    *disk = (struct statvfs){.f_bavail = mine.QuadPart, .f_frsize = 1};
    return 0;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

int uname(struct utsname *system) {
    OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    LONG(WINAPI *ask)(OSVERSIONINFOW *);
    FARPROC found = GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlGetVersion"); /* GetVersionEx lies */
    memcpy(&ask, &found, sizeof ask);
    if (!found || ask(&version) != 0) return -1;
    snprintf(system->sysname, sizeof system->sysname, "Windows");
    snprintf(system->release, sizeof system->release, "%lu.%lu.%lu", version.dwMajorVersion, version.dwMinorVersion,
             version.dwBuildNumber);
    snprintf(system->machine, sizeof system->machine, "x86_64");
    return 0;
}

int windows_gethostname(char *name, size_t size) {
    wchar_t wide[256];
    DWORD units = sizeof wide / sizeof *wide;
    char *found = GetComputerNameExW(ComputerNameDnsHostname, wide, &units) ? utf8_of(wide) : NULL;
    if (!found) return -1;
    snprintf(name, size, "%s", found);
    free(found);
    return 0;
}

struct passwd *getpwuid(unsigned user) {
    static char name[256];
    static struct passwd entry = {name};
    const char *found = windows_getenv("USERNAME");
    (void)user;
    snprintf(name, sizeof name, "%s", found ? found : "");
    return *name ? &entry : NULL;
}

long windows_random(void *bytes, size_t size) {
    if (BCryptGenRandom(NULL, bytes, (ULONG)size, BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0) return (long)size;
    errno = EIO;
    return -1;
}

/* --- the environment ---------------------------------------------------------------------------------------------- */

/* The values that were asked for, in UTF-8; they stay until the process ends, as those of getenv do. */
typedef struct variable {
    struct variable *next;
    char *value, name[];
} variable;

static variable *variables;
static pthread_mutex_t variables_mutex = PTHREAD_MUTEX_INITIALIZER;

static variable *remember(const char *name, char *value) {
    const size_t size = strlen(name) + 1;
    variable *v = malloc(sizeof *v + size);
    if (!v) return free(value), NULL;
    memcpy(v->name, name, size);
    v->value = value;
    v->next = variables;
    variables = v;
    return v;
}

char *windows_getenv(const char *name) {
    wchar_t *wide = wide_of(name);
    const wchar_t *found = wide ? _wgetenv(wide) : NULL;
    char *value = found ? utf8_of(found) : NULL;
    free(wide);
    if (!value) return NULL;
    pthread_mutex_lock(&variables_mutex);
    variable *v = variables;
    while (v && (strcmp(v->name, name) != 0 || strcmp(v->value, value) != 0)) v = v->next;
    if (v) free(value);
    else v = remember(name, value);
    pthread_mutex_unlock(&variables_mutex);
    return v ? v->value : NULL;
}

int windows_setenv(const char *name, const char *value, int replace) {
    (void)replace;
    return _putenv_s(name, value) == 0 ? 0 : -1;
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

static int comes(int number) { return number == SIGINT || number == SIGTERM; }

void (*windows_signal(int number, void (*handler)(int)))(int) {
    return comes(number) ? signal(number, handler) : SIG_DFL;
}

int windows_sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    if (old) { /* the handler can only be read by setting it */
        old->sa_flags = 0;
        old->sa_handler = comes(number) ? signal(number, SIG_IGN) : SIG_DFL;
        if (comes(number)) signal(number, old->sa_handler);
    }
    if (action && comes(number)) signal(number, action->sa_handler);
    return 0;
}

/* --- pipes -------------------------------------------------------------------------------------------------------- */

/* A pipe that has ended can be read, too. */
static int is_ready(int fd) {
    DWORD bytes = 0;
    HANDLE pipe = (HANDLE)_get_osfhandle(fd);
    return !PeekNamedPipe(pipe, NULL, 0, NULL, &bytes, NULL) || bytes > 0;
}

int poll(struct pollfd *list, nfds_t count, int milliseconds) {
    enum { EAGER = 50 }; /* looks without a pause, which is at least a millisecond long */
    const ULONGLONG end = GetTickCount64() + (ULONGLONG)(milliseconds < 0 ? 0 : milliseconds);
    int ready = 0;
    if (!count) return Sleep((DWORD)milliseconds), 0;
    for (int look = 0;; look++) {
        for (nfds_t i = 0; i < count; i++) {
            list[i].revents = is_ready(list[i].fd) ? POLLIN : 0;
            ready += list[i].revents != 0;
        }
        if (ready || (milliseconds >= 0 && GetTickCount64() >= end)) return ready;
        if (look < EAGER) SwitchToThread();
        else Sleep(1);
    }
}
