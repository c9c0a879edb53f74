/* POSIX for Windows: what the rooms call, where MinGW-w64 lacks it or has it for the ANSI code page, for short paths,
   or without file numbers. `make windows` includes this before each source, so no other file asks which system it is
   for. Paths are UTF-8 and of any length; errors come as errno. */
#ifndef REID_WINDOWS_POSIX_H
#define REID_WINDOWS_POSIX_H

/* Everything below renames functions, so the headers that declare them come first. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <io.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* --- errors ------------------------------------------------------------------------------------------------------- */

/* Errors that POSIX does not have; strerror explains them. */
enum { ENAMERESERVED = 0x7001, ENAMEWRONG, EINUSE, ESTALE };
char *windows_strerror(int error);
#define strerror windows_strerror

/* --- files -------------------------------------------------------------------------------------------------------- */

/* With the file's number, by which it is known again under another name, and with nanoseconds. */
struct windows_stat {
    uint64_t st_dev, st_ino;
    mode_t st_mode;
    unsigned st_nlink, st_uid, st_gid;
    int64_t st_size;
    struct timespec st_mtim;
};
#define dev_t uint64_t
#define ino_t uint64_t
#define uid_t unsigned
#define gid_t unsigned
#define mode_t unsigned

#define sigset_t uint64_t

#define S_IFLNK 0120000
#define S_ISVTX 0
#define S_ISLNK(mode) (((mode) & S_IFMT) == S_IFLNK)
/* Bits that Windows's own flags leave free. */
#define O_CLOEXEC O_NOINHERIT
#define O_NOFOLLOW 0x1000000
#define O_DIRECTORY 0x2000000
#define O_NONBLOCK 0x4000000
#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8
#define F_GETFD 1
#define F_SETPIPE_SZ 1031

int windows_open(const char *path, int flags, ...);
int windows_close(int fd);
ptrdiff_t windows_read(int fd, void *to, size_t size);
ptrdiff_t windows_write(int fd, const void *from, size_t size);
ptrdiff_t windows_pread(int fd, void *to, size_t size, int64_t at);
ptrdiff_t windows_pwrite(int fd, const void *from, size_t size, int64_t at);
int windows_fsync(int fd);
int windows_syncfs(int fd);
int windows_ftruncate(int fd, int64_t size);
int windows_flock(int fd, int how);
int windows_fcntl(int fd, int command, ...);
int windows_stat(const char *path, struct windows_stat *st);
int windows_lstat(const char *path, struct windows_stat *st);
int windows_fstat(int fd, struct windows_stat *st);
int windows_access(const char *path, int mode);
int windows_unlink(const char *path);
int windows_rename(const char *from, const char *to);
int windows_link(const char *from, const char *to);
int windows_isatty(int fd);
FILE *windows_fopen(const char *path, const char *mode);
FILE *windows_tmpfile(void);
size_t windows_fwrite(const void *from, size_t size, size_t count, FILE *f);
int windows_fflush(FILE *f);
char *windows_realpath(const char *path, char *out);
#define open windows_open
#define close windows_close
#define read windows_read
#define write windows_write
#define pread windows_pread
#define pwrite windows_pwrite
#define fsync windows_fsync
#define syncfs windows_syncfs
#undef ftruncate
#define ftruncate windows_ftruncate
#define flock windows_flock
#define fcntl windows_fcntl
#undef stat
#define stat windows_stat
#undef lstat
#define lstat windows_lstat
#undef fstat
#define fstat windows_fstat
#define access windows_access
#define unlink windows_unlink
#define rename windows_rename
#define link(from, to) windows_link(from, to) /* link is also the name of a type */
#define isatty windows_isatty
#define fopen windows_fopen
#define tmpfile windows_tmpfile
#define fwrite windows_fwrite
#define fflush windows_fflush
#define realpath windows_realpath

/* Rights are those that the folder gives its files: modes and owners are not set, and no file seems to be another
   user's. */
static inline int windows_no_rights(void) { return 0; }
#define fchmod(fd, mode) ((void)(fd), (void)(mode), windows_no_rights())
#define fchown(fd, user, group) ((void)(fd), (void)(user), (void)(group), windows_no_rights())
#define chmod(path, mode) ((void)(path), (void)(mode), windows_no_rights())
#define geteuid() 0u
#define umask(mask) ((mode_t)(umask)((int)(mask)))

/* --- folders ------------------------------------------------------------------------------------------------------ */

struct windows_dirent {
    char d_name[3 * 256]; /* a name has 255 UTF-16 units at most, each up to 3 bytes of UTF-8 */
};
typedef struct windows_dir windows_dir;
windows_dir *windows_opendir(const char *path);
struct windows_dirent *windows_readdir(windows_dir *d);
int windows_closedir(windows_dir *d);
int windows_scandir(const char *path, struct windows_dirent ***out, int (*keep)(const struct windows_dirent *),
                    int (*order)(const struct windows_dirent **, const struct windows_dirent **));
int windows_mkdir(const char *path, mode_t mode);
int windows_rmdir(const char *path);
char *windows_mkdtemp(char *path);
int windows_nftw(const char *path, int (*fn)(const char *, const struct windows_stat *, int, struct FTW *), int most,
                 int flags);
#define DIR windows_dir
#define dirent windows_dirent
#define opendir windows_opendir
#define readdir windows_readdir
#define closedir windows_closedir
#define scandir windows_scandir
#define mkdir windows_mkdir
#define rmdir windows_rmdir
#define mkdtemp windows_mkdtemp
#define nftw windows_nftw

/* --- signals ------------------------------------------------------------------------------------------------------ */

/* Only SIGINT (Ctrl-C) and SIGTERM come; a handler is reset before it runs, as with SA_RESETHAND. The numbers of the
   others are free in Windows's signal.h, and setting them changes nothing. */
#define SIGHUP 1
#define SIGKILL 9
#define SIGUSR1 10
#define SIGPIPE 13
#define SIGXFSZ 25
#define SA_RESETHAND 1
#define SA_RESTART 2
#define SIG_BLOCK 0
#define SIG_SETMASK 2
struct sigaction {
    void (*sa_handler)(int number);
    int sa_flags;
};
int windows_sigaction(int number, const struct sigaction *action, struct sigaction *old);
void (*windows_signal(int number, void (*handler)(int)))(int);
#define sigaction(number, action, old) windows_sigaction(number, action, old)
#define signal windows_signal
#define sigfillset(set) (*(set) = ~(sigset_t)0)
#define sigemptyset(set) (*(set) = 0)
#undef pthread_sigmask
#define pthread_sigmask(how, set, old) ((void)(how), (void)(set), (void)(old))

/* --- the machine -------------------------------------------------------------------------------------------------- */

enum { _SC_PAGESIZE, _SC_PHYS_PAGES, _SC_AVPHYS_PAGES, _SC_NPROCESSORS_ONLN };
long windows_sysconf(int name);
char *windows_getenv(const char *name);
int windows_setenv(const char *name, const char *value, int replace);
int windows_gethostname(char *name, size_t size);
#define sysconf windows_sysconf
#define getenv windows_getenv
#define setenv windows_setenv
#define gethostname windows_gethostname

typedef struct windows_cpus {
    uint64_t mask;
} windows_cpus;
int windows_affinity(windows_cpus *set);
#define cpu_set_t windows_cpus
#define CPU_ZERO(set) ((set)->mask = 0)
#define CPU_COUNT(set) __builtin_popcountll((set)->mask)
#define sched_getaffinity(process, size, set) windows_affinity(set)

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* Names that MinGW-w64's headers take or lack: a function of io.h, which the rooms do not call; the printf of C99 in
   format attributes; macros for any type that the compiler's warnings take for conversions. */
#define tell rooms_tell
#ifndef __clang__
#define printf gnu_printf
#endif
#undef isnan
#undef isinf
#undef isfinite
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)

/* The command's main is called by that of start.c. */
#define main windows_main
int windows_main(int argc, char **argv);

void *windows_memmem(const void *in, size_t size, const void *what, size_t length);
#define memmem windows_memmem

#endif
