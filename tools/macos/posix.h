/* What the rooms call of Linux, for macOS, where it is missing, called otherwise or weaker. `make macos` includes this
   before each source, so no other file asks which system it is for. */
#ifndef REID_MACOS_POSIX_H
#define REID_MACOS_POSIX_H

/* What is renamed below is declared in these headers, which therefore come first. */
#include <crt_externs.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- files -------------------------------------------------------------------------------------------------------- */

#define st_mtim st_mtimespec

/* fsync of macOS leaves data in the drive's own cache, where a power failure destroys it ("fsync", macOS manual). */
int macos_fsync(int fd);
#define fsync macos_fsync
/* Writes what the file system of this descriptor holds back. */
int macos_syncfs(int fd);
#define syncfs macos_syncfs

/* Sets O_CLOEXEC and O_NONBLOCK after the pipe is made: a child that is started in between inherits the pipe. */
int macos_pipe2(int ends[2], int flags);
#define pipe2 macos_pipe2
/* No command of fcntl: the size of a pipe cannot be set, and the call fails. */
#define F_SETPIPE_SZ (-1)

/* As for pipe2. The flags are bits that no type of socket has. */
#undef SOCK_CLOEXEC
#undef SOCK_NONBLOCK
#define SOCK_CLOEXEC 0x10000
#define SOCK_NONBLOCK 0x20000
int macos_socket(int domain, int type, int protocol);
#define socket macos_socket

/* --- the machine -------------------------------------------------------------------------------------------------- */

#define environ (*_NSGetEnviron())

/* Names of sysconf begin at 1. */
#define _SC_AVPHYS_PAGES (-1)
long macos_sysconf(int name);
#define sysconf macos_sysconf

/* A process cannot be bound to CPUs: its set is all of them. */
typedef struct macos_cpus {
    int count;
} macos_cpus;
int macos_affinity(macos_cpus *set);
#define cpu_set_t macos_cpus
#define CPU_ZERO(set) ((set)->count = 0)
#define CPU_COUNT(set) ((set)->count)
#define sched_getaffinity(process, size, set) macos_affinity(set)

/* Finds a library by its name on Linux. */
void *macos_dlopen(const char *name, int flags);
#define dlopen macos_dlopen

#endif
