/* reid: the command line. commands/ has a file per command, commands/commands.c the table of all. */
#include "base/files.h"
#include "base/say.h"
#include "cli/parse.h"
#include "commands/commands.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
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
    const command *c = command_find(&COMMAND_TABLE, argv[1]);
    if (!c) {
        command_unknown(&COMMAND_TABLE, argv[1]);
        return 2;
    }
    int status = 2;
    if (options_parse(&o, c, argc - 2, argv + 2)) {
        o.table = &COMMAND_TABLE;
        if (o.help.asked) {
            o.operands[0] = (char *)c->name;
            o.operand_count = 1;
        }
        status = o.help.asked ? help_main(&o) : c->run(&o);
    }
    free(o.operands);
    free(o.config_text);
    if (interrupted()) end_by_signal(interrupted());
    return status;
}
