/* Files by wide names. Every file is opened so that others may rename and remove it, as on Linux, and in binary. */
#include "windows/names.h"

#include <stdarg.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#undef open
#undef close
#undef read
#undef write
#undef isatty
#undef fwrite
#undef fflush

static HANDLE handle_of(int fd) { return (HANDLE)_get_osfhandle(fd); }

/* --- what a file is ----------------------------------------------------------------------------------------------- */

/* From 1601 in steps of 100 ns to 1970 in seconds. */
static struct timespec time_of(FILETIME t) {
    const int64_t steps = (int64_t)((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime) - 116444736000000000;
    struct timespec out = {.tv_sec = steps / 10000000, .tv_nsec = (long)(steps % 10000000 * 100)};
    if (out.tv_nsec < 0) out.tv_sec--, out.tv_nsec += 1000000000;
    return out;
}

/* A junction counts as a link, as it leads elsewhere. */
static int is_link(HANDLE file, DWORD attributes) {
    FILE_ATTRIBUTE_TAG_INFO tag;
    return (attributes & FILE_ATTRIBUTE_REPARSE_POINT) &&
           GetFileInformationByHandleEx(file, FileAttributeTagInfo, &tag, sizeof tag) &&
           (tag.ReparseTag == IO_REPARSE_TAG_SYMLINK || tag.ReparseTag == IO_REPARSE_TAG_MOUNT_POINT);
}

static int look_at(HANDLE file, struct windows_stat *st) {
    BY_HANDLE_FILE_INFORMATION info;
    memset(st, 0, sizeof *st);
    switch (GetFileType(file)) {
    case FILE_TYPE_DISK: break;
    case FILE_TYPE_PIPE: return st->st_mode = S_IFIFO | 0600, 0;
    case FILE_TYPE_CHAR: return st->st_mode = S_IFCHR | 0600, 0;
    default: return errno = EBADF, -1;
    }
    if (!GetFileInformationByHandle(file, &info)) return fail_with_errno();
    const int folder = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    st->st_mode = is_link(file, info.dwFileAttributes) ? S_IFLNK | 0600 : folder ? S_IFDIR | 0700 : S_IFREG | 0600;
    st->st_dev = info.dwVolumeSerialNumber;
    st->st_ino = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
    st->st_nlink = info.nNumberOfLinks;
    st->st_size = (int64_t)((uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow);
    st->st_mtim = time_of(info.ftLastWriteTime);
    return 0;
}

static const DWORD SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

/* Opens a file or folder. itself: a link is not followed. */
static HANDLE reach(const char *path, DWORD access, DWORD how, int itself) {
    wchar_t *wide = wide_path(path);
    if (!wide) return INVALID_HANDLE_VALUE;
    HANDLE file = CreateFileW(wide, access, SHARED, NULL, how,
                              FILE_FLAG_BACKUP_SEMANTICS | (itself ? FILE_FLAG_OPEN_REPARSE_POINT : 0), NULL);
    free(wide);
    if (file == INVALID_HANDLE_VALUE) fail_with_errno();
    return file;
}

static int look_at_path(const char *path, struct windows_stat *st, int itself) {
    HANDLE file = reach(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, itself);
    if (file == INVALID_HANDLE_VALUE) return -1;
    int result = look_at(file, st);
    CloseHandle(file);
    return result;
}

int windows_stat(const char *path, struct windows_stat *st) { return look_at_path(path, st, 0); }
int windows_lstat(const char *path, struct windows_stat *st) { return look_at_path(path, st, 1); }
int windows_fstat(int fd, struct windows_stat *st) { return look_at(handle_of(fd), st); }

int windows_access(const char *path, int mode) {
    wchar_t *wide = wide_path(path);
    if (!wide) return -1;
    const DWORD found = GetFileAttributesW(wide);
    free(wide);
    if (found == INVALID_FILE_ATTRIBUTES) return fail_with_errno();
    if ((mode & W_OK) && (found & FILE_ATTRIBUTE_READONLY) && !(found & FILE_ATTRIBUTE_DIRECTORY))
        return errno = EACCES, -1;
    return 0;
}

/* Resolves links, so that a file has one path. */
char *windows_realpath(const char *path, char *out) {
    HANDLE file = reach(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, 0);
    if (file == INVALID_HANDLE_VALUE) return NULL;
    DWORD units = GetFinalPathNameByHandleW(file, NULL, 0, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
    wchar_t *wide = units ? malloc(((size_t)units + 1) * sizeof *wide) : NULL;
    if (!units) fail_with_errno();
    if (wide) units = GetFinalPathNameByHandleW(file, wide, units + 1, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
    CloseHandle(file);
    char *whole = wide && units ? path_of(wide) : NULL;
    free(wide);
    size_t length = whole ? strlen(whole) : 0;
    if (length == 3 && whole[1] == ':') whole[2] = 0; /* the top of a drive, to which callers append a slash */
    if (!out || !whole) return whole;
    const int fits = length < PATH_MAX;
    if (fits) memcpy(out, whole, length + 1);
    else errno = ENAMETOOLONG;
    free(whole);
    return fits ? out : NULL;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

/* Windows cannot lock a folder. A named object of the session stands for the lock; it ends with the process. */
enum { FOLDER_LOCKS = 8 };
static struct { int fd; HANDLE object; } locks[FOLDER_LOCKS];
static pthread_mutex_t locks_mutex = PTHREAD_MUTEX_INITIALIZER;

static void forget_lock(int fd) {
    pthread_mutex_lock(&locks_mutex);
    for (int i = 0; i < FOLDER_LOCKS; i++)
        if (locks[i].object && locks[i].fd == fd) CloseHandle(locks[i].object), locks[i].object = NULL;
    pthread_mutex_unlock(&locks_mutex);
}

static int refuse_handle(HANDLE file, int error) {
    CloseHandle(file);
    errno = error;
    return -1;
}

/* A descriptor of the C library, which owns the handle from then on. */
static int descriptor(HANDLE file, int flags) {
    int fd = _open_osfhandle((intptr_t)file, (flags & (O_APPEND | O_ACCMODE)) | O_BINARY | O_NOINHERIT);
    return fd >= 0 ? fd : refuse_handle(file, EMFILE);
}

int windows_open(const char *path, int flags, ...) {
    const int writes = (flags & O_ACCMODE) != O_RDONLY;
    const DWORD access = (flags & O_ACCMODE) == O_RDONLY ? GENERIC_READ
                         : (flags & O_ACCMODE) == O_WRONLY ? GENERIC_WRITE : GENERIC_READ | GENERIC_WRITE;
    const DWORD how = !(flags & O_CREAT) ? OPEN_EXISTING : flags & O_EXCL ? CREATE_NEW : OPEN_ALWAYS;
    struct windows_stat st;
    HANDLE file = reach(path, writes ? access | DELETE : access, how, flags & O_NOFOLLOW);
    if (file == INVALID_HANDLE_VALUE) return -1;
    if (look_at(file, &st) != 0) return refuse_handle(file, errno);
    if (S_ISLNK(st.st_mode)) return refuse_handle(file, ELOOP);
    if (S_ISDIR(st.st_mode) && writes) return refuse_handle(file, EISDIR);
    if ((flags & O_DIRECTORY) && !S_ISDIR(st.st_mode)) return refuse_handle(file, ENOTDIR);
    int fd = descriptor(file, flags);
    if (fd >= 0 && (flags & O_TRUNC) && windows_ftruncate(fd, 0) != 0) return windows_close(fd), -1;
    return fd;
}

int windows_close(int fd) {
    forget_lock(fd);
    return _close(fd);
}

/* Modes are "r" or "w" and letters of glibc's: "e" (no child inherits it), which every file has here. */
FILE *windows_fopen(const char *path, const char *mode) {
    const int reads = mode[0] == 'r';
    int fd = windows_open(path, reads ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC);
    FILE *f = fd >= 0 ? _fdopen(fd, reads ? "rb" : "wb") : NULL;
    if (!f && fd >= 0) windows_close(fd);
    return f;
}

/* The C library's tmpfile would use the top folder of the drive, where few users may write. */
FILE *windows_tmpfile(void) {
    wchar_t folder[MAX_PATH + 1], name[MAX_PATH + 1];
    if (!GetTempPathW(MAX_PATH + 1, folder) || !GetTempFileNameW(folder, L"rei", 0, name))
        return fail_with_errno(), NULL;
    HANDLE file = CreateFileW(name, GENERIC_READ | GENERIC_WRITE, SHARED, NULL, CREATE_ALWAYS,
                              FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    if (file == INVALID_HANDLE_VALUE) return fail_with_errno(), NULL;
    int fd = descriptor(file, O_RDWR);
    return fd < 0 ? NULL : _fdopen(fd, "w+b");
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

static DWORD at_once(size_t size) { return size < 1u << 30 ? (DWORD)size : 1u << 30; }

/* Writing to a pipe whose reader has gone is EPIPE; the C library reports an invalid argument. If the reader closes the
   pipe during a write, Windows reports no error, only that fewer bytes were written. */
static void name_broken_pipe(FILE *f) {
    const unsigned long last = _doserrno;
    if (last == ERROR_NO_DATA || last == ERROR_BROKEN_PIPE || last == ERROR_PIPE_NOT_CONNECTED ||
        (last == 0 && GetFileType(handle_of(_fileno(f))) == FILE_TYPE_PIPE))
        errno = EPIPE;
}

size_t windows_fwrite(const void *from, size_t size, size_t count, FILE *f) {
    const size_t written = fwrite(from, size, count, f);
    if (written < count) name_broken_pipe(f);
    return written;
}

int windows_fflush(FILE *f) {
    const int result = fflush(f);
    if (result) name_broken_pipe(f);
    return result;
}

static OVERLAPPED place(int64_t at) {
    OVERLAPPED where;
    memset(&where, 0, sizeof where);
    where.Offset = (DWORD)at, where.OffsetHigh = (DWORD)(at >> 32);
    return where;
}

ptrdiff_t windows_read(int fd, void *to, size_t size) { return _read(fd, to, at_once(size)); }
ptrdiff_t windows_write(int fd, const void *from, size_t size) { return _write(fd, from, at_once(size)); }

ptrdiff_t windows_pread(int fd, void *to, size_t size, int64_t at) {
    OVERLAPPED where = place(at);
    DWORD n = 0;
    if (ReadFile(handle_of(fd), to, at_once(size), &n, &where) || GetLastError() == ERROR_HANDLE_EOF) return n;
    return fail_with_errno();
}

ptrdiff_t windows_pwrite(int fd, const void *from, size_t size, int64_t at) {
    OVERLAPPED where = place(at);
    DWORD n = 0;
    return WriteFile(handle_of(fd), from, at_once(size), &n, &where) ? (ptrdiff_t)n : fail_with_errno();
}

int windows_ftruncate(int fd, int64_t size) {
    FILE_END_OF_FILE_INFO end;
    end.EndOfFile.QuadPart = size;
    return SetFileInformationByHandle(handle_of(fd), FileEndOfFileInfo, &end, sizeof end) ? 0 : fail_with_errno();
}

/* Windows has no call that syncs only a folder; syncing a file also writes its name. */
int windows_fsync(int fd) {
    struct windows_stat st;
    if (windows_fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) return 0;
    return FlushFileBuffers(handle_of(fd)) ? 0 : fail_with_errno();
}

int windows_fcntl(int fd, int command, ...) {
    if (command == F_GETFD) return handle_of(fd) == INVALID_HANDLE_VALUE || (intptr_t)handle_of(fd) == -2 ? -1 : 0;
    return errno = EINVAL, -1;
}

/* Only a console that understands the escapes of colours and progress counts as one. */
int windows_isatty(int fd) {
    DWORD mode;
    HANDLE console = handle_of(fd);
    if (!GetConsoleMode(console, &mode)) return 0;
    return fd == 0 || (mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING) ||
           SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

/* --- locks -------------------------------------------------------------------------------------------------------- */

static int lock_folder(int fd, const struct windows_stat *st) {
    wchar_t name[64];
    int i = 0, got = 0;
    _snwprintf(name, 64, L"Local\\reid-%08llx-%016llx", (unsigned long long)st->st_dev, (unsigned long long)st->st_ino);
    pthread_mutex_lock(&locks_mutex);
    while (i < FOLDER_LOCKS && locks[i].object) i++;
    HANDLE object = i < FOLDER_LOCKS ? CreateEventW(NULL, TRUE, FALSE, name) : NULL;
    got = object && GetLastError() != ERROR_ALREADY_EXISTS;
    if (got) locks[i].fd = fd, locks[i].object = object;
    else if (object) CloseHandle(object);
    pthread_mutex_unlock(&locks_mutex);
    if (!got) errno = EWOULDBLOCK;
    return got ? 0 : -1;
}

/* A lock excludes other locks, not reads: it is on a byte far beyond the end of the file. A wait ends with EINTR now
   and then, so that the caller notices Ctrl-C. */
int windows_flock(int fd, int how) {
    enum { TRIES = 10, PAUSE = 20 }; /* milliseconds */
    struct windows_stat st;
    OVERLAPPED where = place((int64_t)1 << 62);
    if (windows_fstat(fd, &st) != 0) return -1;
    if (S_ISDIR(st.st_mode)) return how & LOCK_UN ? forget_lock(fd), 0 : lock_folder(fd, &st);
    UnlockFileEx(handle_of(fd), 0, 1, 0, &where); /* locks of one handle would add up */
    if (how & LOCK_UN) return 0;
    const DWORD kind = LOCKFILE_FAIL_IMMEDIATELY | (how & LOCK_EX ? LOCKFILE_EXCLUSIVE_LOCK : 0);
    for (int i = 0; i < TRIES; i++) {
        if (LockFileEx(handle_of(fd), kind, 0, 1, 0, &where)) return 0;
        if (GetLastError() != ERROR_LOCK_VIOLATION && GetLastError() != ERROR_IO_PENDING) return fail_with_errno();
        if (how & LOCK_NB) return errno = EWOULDBLOCK, -1;
        Sleep(PAUSE);
    }
    return errno = EINTR, -1;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Since Windows 10 open files can be renamed and removed, with POSIX's meaning; MinGW-w64's headers lack the names. See
   FILE_RENAME_INFO and FILE_DISPOSITION_INFO_EX in Microsoft's documentation. */
enum { RENAME_EX = 22, DISPOSITION_EX = 21, REPLACE_IF_EXISTS = 1, RENAME_POSIX = 2, DELETE_IT = 1, DELETE_POSIX = 2,
       IGNORE_READONLY = 0x10 };

/* Whether the system or the disk does not know a request, rather than refusing it for this file. */
static int is_unknown_request(void) {
    const DWORD last = GetLastError();
    return last == ERROR_INVALID_PARAMETER || last == ERROR_NOT_SUPPORTED || last == ERROR_INVALID_FUNCTION ||
           last == ERROR_CALL_NOT_IMPLEMENTED || last == ERROR_INVALID_LEVEL;
}

/* Renames an open file, in place of another one if `replace` is set. Returns 0 with GetLastError. */
static int rename_open(HANDLE file, const wchar_t *to, int replace) {
    const size_t length = wcslen(to) * sizeof *to, size = sizeof(FILE_RENAME_INFO) + length;
    const DWORD flags = RENAME_POSIX | (replace ? REPLACE_IF_EXISTS : 0);
    FILE_RENAME_INFO *info = calloc(1, size);
    if (!info) return SetLastError(ERROR_NOT_ENOUGH_MEMORY), 0;
    info->FileNameLength = (DWORD)length;
    memcpy(info->FileName, to, length);
    memcpy(info, &flags, sizeof flags); /* in the place of ReplaceIfExists */
    int good = SetFileInformationByHandle(file, (FILE_INFO_BY_HANDLE_CLASS)RENAME_EX, info, (DWORD)size);
    if (!good && is_unknown_request()) {
        memset(info, 0, sizeof flags);
        info->ReplaceIfExists = replace != 0;
        good = SetFileInformationByHandle(file, FileRenameInfo, info, (DWORD)size);
    }
    free(info);
    return good;
}

/* Gives an open file a name that no program uses, so that its own is free although the file still exists. */
static int move_aside(HANDLE file, const wchar_t *path) {
    static volatile LONG counter;
    wchar_t *aside = malloc((wcslen(path) + 48) * sizeof *aside);
    if (!aside) return SetLastError(ERROR_NOT_ENOUGH_MEMORY), 0;
    _snwprintf(aside, wcslen(path) + 48, L"%ls.%lu.%ld.removed", path, (unsigned long)GetCurrentProcessId(),
               (long)InterlockedIncrement(&counter));
    int good = rename_open(file, aside, 0);
    free(aside);
    return good;
}

/* Removes an open file: its name at once, the file when all who have it open have closed it. */
static int remove_open(HANDLE file, const wchar_t *path) {
    DWORD flags = DELETE_IT | DELETE_POSIX | IGNORE_READONLY;
    FILE_DISPOSITION_INFO gone = {TRUE};
    if (SetFileInformationByHandle(file, (FILE_INFO_BY_HANDLE_CLASS)DISPOSITION_EX, &flags, sizeof flags)) return 1;
    if (!is_unknown_request()) return 0;
    if (path) move_aside(file, path);
    return SetFileInformationByHandle(file, FileDispositionInfo, &gone, sizeof gone);
}

/* Renames an open file in place of another one, even if that is open too, by programs that allow it. Where the system
   does not do that by itself, there is a moment in which only the other file's second name exists. */
static int put_in_place(HANDLE file, const wchar_t *to) {
    if (rename_open(file, to, 1)) return 1;
    if (GetLastError() != ERROR_ACCESS_DENIED || GetFileAttributesW(to) & FILE_ATTRIBUTE_READONLY) return 0;
    HANDLE old = CreateFileW(to, DELETE | SYNCHRONIZE, SHARED, NULL, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    int good = old != INVALID_HANDLE_VALUE && move_aside(old, to);
    if (good && !rename_open(file, to, 0)) {
        const DWORD last = GetLastError();
        rename_open(old, to, 0);
        SetLastError(last);
        good = 0;
    }
    if (good) remove_open(old, NULL);
    if (old != INVALID_HANDLE_VALUE) {
        const DWORD last = GetLastError();
        CloseHandle(old);
        SetLastError(last);
    }
    return good;
}

/* An empty folder of that name gives way to a folder, as on Linux. */
static int make_way(const wchar_t *from, const wchar_t *to) {
    const DWORD a = GetFileAttributesW(from), b = GetFileAttributesW(to);
    if (a == INVALID_FILE_ATTRIBUTES || b == INVALID_FILE_ATTRIBUTES) return 1;
    if (!(a & FILE_ATTRIBUTE_DIRECTORY) && (b & FILE_ATTRIBUTE_DIRECTORY)) return errno = EISDIR, 0;
    if (!(a & b & FILE_ATTRIBUTE_DIRECTORY)) return 1;
    return RemoveDirectoryW(to) || (fail_with_errno(), 0);
}

/* Whether both are names of one file, which rename then leaves as they are, as on Linux. */
static int are_one_file(const char *from, const char *to) {
    struct windows_stat a, b;
    return windows_lstat(from, &a) == 0 && windows_lstat(to, &b) == 0 && S_ISREG(a.st_mode) && a.st_nlink > 1 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int windows_rename(const char *from, const char *to) {
    if (are_one_file(from, to)) return 0;
    wchar_t *old = wide_path(from), *new = old ? wide_path(to) : NULL;
    int good = new && make_way(old, new);
    HANDLE file = INVALID_HANDLE_VALUE;
    if (good) file = reach(from, DELETE | SYNCHRONIZE, OPEN_EXISTING, 1);
    good = good && file != INVALID_HANDLE_VALUE;
    if (good && !put_in_place(file, new)) {
        good = 0;
        fail_with_errno();
        /* Of an open file Windows only says that access is denied. */
        if (errno == EACCES && GetFileAttributesW(new) != INVALID_FILE_ATTRIBUTES) errno = EINUSE;
    }
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    free(old), free(new);
    return good ? 0 : -1;
}

int windows_unlink(const char *path) {
    HANDLE file = reach(path, DELETE | SYNCHRONIZE | FILE_READ_ATTRIBUTES, OPEN_EXISTING, 1);
    struct windows_stat st;
    if (file == INVALID_HANDLE_VALUE) return -1;
    if (look_at(file, &st) == 0 && S_ISDIR(st.st_mode)) return refuse_handle(file, EISDIR);
    wchar_t *wide = wide_path(path);
    int good = remove_open(file, wide);
    if (!good) fail_with_errno();
    free(wide);
    CloseHandle(file);
    return good ? 0 : -1;
}

/* A second name is only given to a file that may be removed: while another program prevents that, the name could not
   be taken back. */
int windows_link(const char *from, const char *to) {
    HANDLE file = reach(from, DELETE | SYNCHRONIZE, OPEN_EXISTING, 1);
    if (file == INVALID_HANDLE_VALUE) return -1;
    wchar_t *old = wide_path(from), *new = old ? wide_path(to) : NULL;
    int result = !new ? -1 : CreateHardLinkW(new, old, NULL) ? 0 : fail_with_errno();
    CloseHandle(file);
    free(old), free(new);
    return result;
}
