/* The commands that reid.exe does not have. Each says so, and what to use instead. */
#include "base/say.h"
#include "commands/commands.h"
#include "commands/review_server.h"

/* Returns the exit status. */
static int absent(const char *what, const char *instead) {
    say_error("%s is not available on Windows; %s", what, instead);
    return 2;
}

static const char LINUX[] = "run it on Linux, for example in the Windows Subsystem for Linux";

int serve_main(options *o) { return (void)o, absent("reid serve", LINUX); }
int worker_main(options *o) { return (void)o, absent("reid worker", LINUX); }

int review_server_is_there(void) {
    absent("the page of reid review", "--html FILE writes it as a file, whose decisions --import reads");
    return 0;
}

int review_serve(board *b, album *a, const char *listen) {
    return (void)b, (void)a, (void)listen, review_server_is_there() ? 0 : 2;
}
