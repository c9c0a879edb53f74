/* sys/utsname.h, which MinGW-w64 lacks. */
#ifndef REID_WINDOWS_UTSNAME_H
#define REID_WINDOWS_UTSNAME_H

struct utsname {
    char sysname[32], release[64], machine[32];
};
int uname(struct utsname *system);

#endif
