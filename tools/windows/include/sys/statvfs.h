/* sys/statvfs.h, which MinGW-w64 lacks: the free space of a disk. */
#ifndef REID_WINDOWS_STATVFS_H
#define REID_WINDOWS_STATVFS_H

struct statvfs {
    unsigned long long f_bavail, f_frsize, f_files, f_favail;
};
int statvfs(const char *path, struct statvfs *disk);

#endif
