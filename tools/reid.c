/* reid: the command line. One file per command; options.c holds the table that they all share. */
#include "base/files.h"
#include "base/say.h"
#include "cli/options.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A closed stdin, stdout or stderr would hand its number to the next file opened, and output would go into that file.
   A descriptor that can be neither read nor written as wanted takes its place. */
static void occupy_standard_descriptors(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) != -1) continue;
        int taken = open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
        if (taken != fd) _exit(2);
    }
}

static const command *find_command(const char *name) {
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) name = "version";
    for (const command *c = COMMANDS; c->name; c++)
        if (strcmp(c->name, name) == 0) return c;
    return NULL;
}

/* Ends the program by the signal that arrived, after removing temporary files. */
static void end_by_signal(int number) {
    pending_remove_all();
    signal(number, SIG_DFL);
    raise(number);
    _exit(128 + number);
}

int main(int argc, char **argv) {
    options o;
    occupy_standard_descriptors();
    interrupt_setup();
    atexit(pending_remove_all);
    if (argc < 2) {
        say_error("no command; see \"reid help\"");
        return 2;
    }
    const command *c = find_command(argv[1]);
    if (!c) {
        say_error("no command \"%s\"; see \"reid help\"", shown(argv[1]));
        return 2;
    }
    int status = 2;
    if (options_parse(&o, c, argc - 2, argv + 2)) {
        if (o.help) {
            o.operands[0] = (char *)c->name;
            o.operand_count = 1;
        }
        status = o.help ? help_main(&o) : c->run(&o);
    }
    free(o.operands);
    if (interrupted()) end_by_signal(interrupted());
    return status;
}
