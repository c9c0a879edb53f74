/* reid worker: answers the requests of reid serve over stdin and stdout, for a parent process. */
#include "base/say.h"
#include "commands/answering.h"
#include "commands/commands.h"
#include "server/worker.h"

#include <string.h>
#include <unistd.h>

static int check_options(const options *o) {
    if (o->operand_count) say_error("worker: unexpected argument: %s (weights go after -m)", shown(o->operands[0]));
    else if (isatty(STDOUT_FILENO)) say_error("worker: stdout is a terminal, but frames are meant for a program");
    else return answering_check(o, "worker");
    return 0;
}

int worker_main(options *o) {
    service s;
    answering a;
    int status = WORKER_BROKEN;
    memset(&s, 0, sizeof s);
    if (!check_options(o)) return status;
    if (answering_name(&a, o, "worker")) {
        const worker_request r = {&s, STDIN_FILENO, STDOUT_FILENO, o->serve.max_body, o->serve.drain,
                                  (long long)(o->serve.timeout * 1e6)};
        const service_request asked = answering_request(&a, o);
        if (service_open(&s, &asked)) status = worker_run(&r);
        else if (service_may_open_later(&s)) status = WORKER_AGAIN;
        service_close(&s);
    }
    answering_free(&a);
    return status;
}
