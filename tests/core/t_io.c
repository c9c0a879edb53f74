/* t_io.c: reading weight files when the system misbehaves: short and interrupted reads, errors at the Nth call, files
   that shrink, paths that are not files, allocations that fail.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Wl,--wrap=open,--wrap=fstat,--wrap=pread,--wrap=close tests/core/t_io.c -o
      build/t_io -lcmocka -lm -lpthread -ldl */
#define REID_IMPLEMENTATION
#define REID_STATIC
#include "reid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/test_files.h"

/* --- the system, with faults --- */
static struct {
    int active;
    int calls;                 /* of open, fstat and pread together */
    int fail_at, error;        /* the call that fails, with this errno; 0: it finds the end of the file */
    size_t most;               /* bytes that one pread returns; 0: all */
    int interrupts;            /* 1: every other call is interrupted */
    int open_files;
    int last_flags;            /* of open */
} io;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
ssize_t __real_pread(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at);
int __real_close(int fd);
int __wrap_close(int fd);

static int fault(void) {
    io.calls++;
    if (io.interrupts && io.calls % 2) errno = EINTR;
    else if (io.calls == io.fail_at) errno = io.error;
    else return 0;
    return 1;
}

int __wrap_open(const char *path, int flags, ...) {
    if (!io.active) return __real_open(path, flags, 0600);
    if (fault()) return -1;
    int fd = __real_open(path, flags, 0600);
    io.open_files += fd >= 0;
    io.last_flags = flags;
    return fd;
}

int __wrap_fstat(int fd, struct stat *st) {
    if (io.active && !io.interrupts && fault()) return -1;
    return __real_fstat(fd, st);
}

ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at) {
    if (io.active && fault()) return errno ? -1 : 0;
    return __real_pread(fd, to, io.active && io.most && io.most < size ? io.most : size, at);
}

int __wrap_close(int fd) {
    io.open_files -= io.active;
    return __real_close(fd);
}

static void faults(int fail_at, int error, size_t most, int interrupts) {
    memset(&io, 0, sizeof io);
    io.active = 1;
    io.fail_at = fail_at, io.error = error, io.most = most, io.interrupts = interrupts;
}

/* --- a file of two chunks of F32 and some F16, and how it is read --- */
#define COUNT 5000
#define FILE_JSON "{" T("a", "F32", "[5000]", "[0,20000]") "," T("b", "F16", "[7]", "[20000,20014]") "}"

static char path[256];

static int make_file(void **state) {
    test_bytes f = test_quoted_file(FILE_JSON, 20014);
    (void)state;
    io.active = 0;
    test_temp_path(path, "io");
    test_write_file(path, f.data, f.size);
    free(f.data);
    return 0;
}

static int remove_file(void **state) {
    (void)state;
    io.active = 0;
    return unlink(path);
}

/* Opens, reads everything, closes. Whatever happens, no file and no memory stays behind. */
static reid_result read_all(float *values, test_heap *heap, reid_error *error) {
    reid_desc desc = REID_INIT;
    reid__weights w;
    reid__mem mem;
    desc.weights = path;
    desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = heap;
    reid__mem_init(&mem, &desc);
    reid__clear_error(error);
    memset(values, 0, (COUNT + 7) * sizeof values[0]);
    reid_result r = reid__weights_open(&w, &desc, &mem, error);
    if (!r) r = reid__weights_read(&w, reid__weights_find(&w, "a"), 0, COUNT, values, error);
    if (!r) r = reid__weights_read(&w, reid__weights_find(&w, "b"), 0, 7, values + COUNT, error);
    reid__weights_close(&w, &mem);
    assert_int_equal(heap->live, 0);
    assert_int_equal(heap->wrong_size, 0);
    assert_int_equal(mem.used, 0);
    assert_int_equal(io.open_files, 0);
    if (r) assert_ptr_equal(strstr(error->text, path), error->text);
    return r;
}

static void short_and_interrupted_reads(void **state) {
    static const size_t most[] = {0, 1, 2, 7, 4096, 16383};
    static float plain[COUNT + 7], values[COUNT + 7];
    test_heap heap = {0, 0, 0, 0, 0, 0, 0};
    reid_error error;
    (void)state;
    faults(0, 0, 0, 0);
    assert_int_equal(read_all(plain, &heap, &error), REID_OK);
    assert_true((io.last_flags & O_CLOEXEC) && (io.last_flags & O_NONBLOCK));
    for (size_t i = 0; i < 2 * sizeof most / sizeof most[0]; i++) {
        faults(0, 0, most[i / 2], i % 2);
        assert_int_equal(read_all(values, &heap, &error), REID_OK);
        assert_memory_equal(values, plain, sizeof plain);
    }
}

/* The Nth system call fails, or finds the end of the file, for every N until all succeed. */
static void nth_call_fails(void **state) {
    static const int errors[] = {EIO, 0, EACCES, EISDIR, EMFILE, ENOMEM};
    static float values[COUNT + 7];
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        reid_result r = REID_ERR_FILE_OPEN;
        int n;
        for (n = 1; r; n++) {
            test_heap heap = {0, 0, 0, 0, 0, 0, 0};
            reid_error error;
            char number[32];
            faults(n, errors[i], 0, 0);
            r = read_all(values, &heap, &error);
            if (!r) break;
            snprintf(number, sizeof number, "(errno %d)", errors[i]);
            reid_result want = n == 1 ? REID_ERR_FILE_OPEN : n == 2 || errors[i] ? REID_ERR_FILE_READ
                                                                                 : REID_ERR_FILE_SHORT;
            assert_int_equal(r, want);
            assert_int_equal(error.code, want);
            if (errors[i]) assert_says(error.text, number);
            assert_int_equal(io.calls, n); /* it stopped there */
        }
        assert_int_equal(n, 8); /* open, fstat, start, header, two chunks, "b": seven calls can fail */
    }
}

static void nth_allocation_fails(void **state) {
    static float values[COUNT + 7];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        test_heap heap = {0, 0, 0, i / 2 + 1, i % 2, 0, 0};
        reid_error error;
        faults(0, 0, 0, 0);
        assert_int_equal(read_all(values, &heap, &error), i < 2 ? REID_ERR_OUT_OF_MEMORY : REID_OK);
        assert_int_equal(heap.calls, 1); /* a file needs only one allocation */
    }
}

/* Cut after it was opened: at every kind of place, and down to nothing. */
static void file_shrinks(void **state) {
    static float values[COUNT];
    static const long sizes[] = {-5, 10000, 200, 0}; /* -5: five bytes less */
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        reid_desc desc = REID_INIT;
        reid_error error;
        reid__weights w;
        reid__mem mem;
        desc.weights = path;
        reid__mem_init(&mem, &desc);
        make_file(NULL);
        assert_int_equal(reid__weights_open(&w, &desc, &mem, &error), REID_OK);
        assert_int_equal(truncate(path, sizes[i] < 0 ? (long)w.size + sizes[i] : sizes[i]), 0);
        const reid__tensor *a = reid__weights_find(&w, "a"), *b = reid__weights_find(&w, "b");
        assert_int_equal(reid__weights_read(&w, a, 0, COUNT, values, &error), i == 0 ? REID_OK : REID_ERR_FILE_SHORT);
        assert_int_equal(reid__weights_read(&w, b, 0, 7, values, &error), REID_ERR_FILE_SHORT);
        assert_says(error.text, "bytes when it was opened");
        reid__weights_close(&w, &mem);
    }
    make_file(NULL);
}

static void no_regular_file(void **state) {
    char other[256];
    struct {
        const char *path, *detail;
    } rows[] = {{NULL, "a pipe"}, {"/", "a directory"}, {"/dev/null", "a device"}, {"", "no such file"}};
    (void)state;
    test_temp_path(other, "fifo");
    test_need(mkfifo(other, 0600) == 0, "mkfifo");
    rows[0].path = other; /* it has no writer: an open without O_NONBLOCK would hang */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reid_desc desc = REID_INIT;
        reid_error error;
        reid__weights w;
        reid__mem mem;
        desc.weights = rows[i].path;
        reid__mem_init(&mem, &desc);
        faults(0, 0, 0, 0);
        assert_int_equal(reid__weights_open(&w, &desc, &mem, &error), REID_ERR_FILE_OPEN);
        assert_says(error.text, rows[i].detail);
        assert_int_equal(io.open_files, 0);
    }
    unlink(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_and_interrupted_reads), cmocka_unit_test(nth_call_fails),
        cmocka_unit_test(nth_allocation_fails), cmocka_unit_test(file_shrinks), cmocka_unit_test(no_regular_file),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
