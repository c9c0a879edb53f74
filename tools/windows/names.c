#include "windows/names.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

wchar_t *wide_of(const char *text) {
    int units = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *wide = units > 0 ? malloc((size_t)units * sizeof *wide) : NULL;
    if (units <= 0) errno = ENAMEWRONG;
    if (wide) MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, units);
    return wide;
}

/* Names of files may have half of a surrogate pair, which becomes U+FFFD: such a file cannot be opened. */
char *utf8_of(const wchar_t *wide) {
    int bytes = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (text) WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, bytes, NULL, NULL);
    return text;
}

static const wchar_t LONG_PATH[] = L"\\\\?\\", LONG_UNC[] = L"\\\\?\\UNC\\";

char *path_of(const wchar_t *wide) {
    int unc = wcsncmp(wide, LONG_UNC, 8) == 0;
    char *path = utf8_of(unc ? wide + 6 : wcsncmp(wide, LONG_PATH, 4) == 0 ? wide + 4 : wide);
    if (path && unc) path[0] = '/'; /* the C of UNC */
    for (char *s = path; s && *s; s++)
        if (*s == '\\') *s = '/';
    return path;
}

/* --- names that Windows keeps for itself -------------------------------------------------------------------------- */

static int is_digit(wchar_t c) {
    return (c >= L'0' && c <= L'9') || c == 0xB9 || c == 0xB2 || c == 0xB3; /* also the superscripts 1, 2 and 3 */
}

/* Whether the part of a path, up to its first dot or colon, is a device's name: CON, nul.txt, COM1. See Microsoft's
   "Naming Files, Paths, and Namespaces". */
static int is_device(const wchar_t *part, size_t length) {
    static const wchar_t *const names[] = {L"CON", L"PRN", L"AUX", L"NUL", L"CONIN$", L"CONOUT$"};
    size_t n = 0;
    while (n < length && part[n] != L'.' && part[n] != L':') n++;
    while (n && part[n - 1] == L' ') n--;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (wcslen(names[i]) == n && _wcsnicmp(part, names[i], n) == 0) return 1;
    return n == 4 && (_wcsnicmp(part, L"COM", 3) == 0 || _wcsnicmp(part, L"LPT", 3) == 0) && is_digit(part[3]);
}

/* Whether the parts of the path can be names of files. */
static int parts_are_names(const wchar_t *path) {
    if (path[0] && path[1] == L':') path += 2;
    while (*path) {
        size_t n = wcscspn(path, L"/\\");
        if (is_device(path, n)) return errno = ENAMERESERVED, 0;
        for (size_t i = 0; i < n; i++)
            if (path[i] < 32 || wcschr(L"<>:\"|?*", path[i])) return errno = ENAMEWRONG, 0;
        path += n + (path[n] != 0);
    }
    return 1;
}

/* The path after the prefix of long paths, which the user may have given. */
static const wchar_t *without_prefix(const wchar_t *path) {
    const int has = wcscspn(path, L"/\\") == 0 && wcscspn(path + 1, L"/\\") == 0 && path[2] == L'?' &&
                    wcscspn(path + 3, L"/\\") == 0 && path[3];
    return has ? path + 4 : path;
}

/* The absolute path with the prefix that lifts the limit of 260 characters. Windows resolves . and .. before. */
static wchar_t *whole_path(const wchar_t *path) {
    DWORD units = GetFullPathNameW(path, 0, NULL, NULL);
    wchar_t *whole = units ? malloc(((size_t)units + 8) * sizeof *whole) : NULL, *at = whole ? whole + 8 : NULL;
    if (!whole || !GetFullPathNameW(path, units, at, NULL)) return free(whole), NULL;
    if (wcsncmp(at, L"\\\\", 2) == 0) {
        memcpy(whole, LONG_UNC, 8 * sizeof *whole);
        memmove(at, at + 2, (wcslen(at) - 1) * sizeof *at);
        return whole;
    }
    memcpy(whole, LONG_PATH, 4 * sizeof *whole);
    memmove(whole + 4, at, (wcslen(at) + 1) * sizeof *at);
    return whole;
}

wchar_t *wide_path(const char *path) {
    wchar_t *wide, *whole = NULL;
    size_t length = strlen(path);
    if (!length) return errno = ENOENT, NULL;
    wide = wide_of(path);
    if (!wide) return NULL;
    if (strcmp(path, "/dev/null") == 0) whole = wide_of("\\\\.\\NUL");
    else if (!parts_are_names(without_prefix(wide))) whole = NULL;
    else if (length == 2 && path[1] == ':') { /* the folder of C:/file, not the current one of the drive C */
        const wchar_t top[] = {wide[0], L':', L'\\', 0};
        whole = whole_path(top);
    } else whole = whole_path(without_prefix(wide));
    free(wide);
    return whole;
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

int fail_with_errno(void) {
    static const struct { DWORD windows; int error; } KNOWN[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},     {ERROR_PATH_NOT_FOUND, ENOENT},       {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_INVALID_DRIVE, ENOENT},      {ERROR_BAD_NET_NAME, ENOENT},         {ERROR_NOT_READY, ENOENT},
        {ERROR_INVALID_NAME, ENAMEWRONG},   {ERROR_BAD_PATHNAME, ENAMEWRONG},     {ERROR_DIRECTORY, ENOTDIR},
        {ERROR_ACCESS_DENIED, EACCES},      {ERROR_WRITE_PROTECT, EROFS},         {ERROR_PRIVILEGE_NOT_HELD, EPERM},
        {ERROR_SHARING_VIOLATION, EINUSE},  {ERROR_USER_MAPPED_FILE, EINUSE},     {ERROR_BUSY, EINUSE},
        {ERROR_LOCK_VIOLATION, EINUSE},     {ERROR_FILE_EXISTS, EEXIST},          {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_DELETE_PENDING, EINUSE},     {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},     {ERROR_NOT_SAME_DEVICE, EXDEV},
        {ERROR_DISK_FULL, ENOSPC},          {ERROR_HANDLE_DISK_FULL, ENOSPC},     {ERROR_FILE_TOO_LARGE, EFBIG},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},  {ERROR_OUTOFMEMORY, ENOMEM},          {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
        {ERROR_BROKEN_PIPE, EPIPE},         {ERROR_NO_DATA, EPIPE},               {ERROR_INVALID_HANDLE, EBADF},
        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    };
    const DWORD last = GetLastError();
    errno = EIO;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (KNOWN[i].windows == last) errno = KNOWN[i].error;
    return -1;
}

#undef strerror
char *windows_strerror(int error) {
    static char reserved[] = "Windows reserves this name for a device (CON, NUL, COM1 and others, with any extension); "
                             "choose another";
    static char wrong[] = "not a name that Windows allows: it must be UTF-8, without any of < > : \" | ? * and control "
                          "characters";
    static char in_use[] = "another program has it open; close it there";
    static char stale[] = "Stale file handle";
    static char again[] = "Resource temporarily unavailable", link[] = "Too many levels of symbolic links";
    switch (error) {
    case ENAMERESERVED: return reserved;
    case ENAMEWRONG: return wrong;
    case EINUSE: return in_use;
    case ESTALE: return stale;
    case EWOULDBLOCK: return again;
    case ELOOP: return link;
    default: return strerror(error);
    }
}
