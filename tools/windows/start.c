/* Where reid.exe begins: arguments in UTF-8 with slashes, streams in binary, a console that shows UTF-8. */
#include "base/text.h"
#include "windows/names.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

int _dowildcard = -1; /* the start code expands *.jpg, as no shell does here */

static UINT code_page;
static void restore_console(void) { SetConsoleOutputCP(code_page); }

int wmain(int argc, wchar_t **wide);
int wmain(int argc, wchar_t **wide) {
    char **argv = calloc((size_t)argc + 1, sizeof *argv);
    for (int fd = 0; fd <= 2; fd++) _setmode(fd, O_BINARY);
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
    code_page = GetConsoleOutputCP();
    if (code_page && SetConsoleOutputCP(CP_UTF8)) atexit(restore_console);
    for (int i = 0; argv && i < argc; i++) {
        argv[i] = utf8_of(wide[i]);
        if (!argv[i]) return 2;
        path_given(argv[i]);
    }
    return argv ? windows_main(argc, argv) : 2;
}
