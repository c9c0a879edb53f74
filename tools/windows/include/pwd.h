/* pwd.h, which MinGW-w64 lacks: the name of the user who runs the command. */
#ifndef REID_WINDOWS_PWD_H
#define REID_WINDOWS_PWD_H

struct passwd {
    char *pw_name;
};
struct passwd *getpwuid(unsigned user);

#endif
