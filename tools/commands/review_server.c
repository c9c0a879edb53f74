#include "commands/review_server.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "base/threads.h"
#include "review/desk.h"
#include "review/token.h"
#include "server/door.h"
#include "server/mhd.h"

#include <unistd.h>

enum { MOST_THREADS = 4 };

int review_server_is_there(void) {
    if (!mhd_is_there()) say_error("review: " MHD_MISSING "; --html works without it");
    return mhd_is_there();
}

/* Prints the address to stdout, so that a program can open it. */
static int tell_address(const text *address, const char *token) {
    text line = TEXT_INIT;
    text_printf(&line, "http://%s/%s/\n", address->s, token);
    return results_print(&line);
}

int review_serve(board *b, album *a, const char *listen) {
    const char *place = listen ? listen : "127.0.0.1:0";
    text address = TEXT_INIT, why = TEXT_INIT;
    char token[33];
    int loopback = 1, status = 2, fd = door_tcp(place, &address, &loopback, &why);
    if (fd >= 0 && !loopback) {
        close(fd);
        fd = -1;
        text_puts(&why, "other machines could connect, but the page is for this machine only: use 127.0.0.1");
    }
    if (fd < 0 || !need_text(&address) || !token_make(token, &why)) {
        if (why.s) say_error("%s: %s", shown(place), why.s);
        if (fd >= 0) close(fd);
    } else {
        desk d = {b, a, token};
        web *w = web_start(fd, threads_for(0, MOST_THREADS), DESK_MAX_BODY, desk_answer, &d);
        if (w && tell_address(&address, token)) {
            interrupt_wait();
            interrupt_take();
            status = 0;
        }
        web_stop(w);
    }
    text_free(&address);
    text_free(&why);
    return status;
}
