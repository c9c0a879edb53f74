/* Weight files for tests: shorthand for their JSON, and checks of opening them. Include it after reid.h and cmocka.h.
   */
#ifndef TEST_FILES_H
#define TEST_FILES_H

#include "test_util.h"

#define T(name, dtype, shape, offsets) "'" name "':{'dtype':'" dtype "','shape':" shape ",'data_offsets':" offsets "}"
#define A8 T("a", "F32", "[2]", "[0,8]") /* eight bytes of data */

/* Opens the bytes from memory and from a file. Both must give `want`; a failure must leave nothing behind, and name the
   file and, if given, `detail`. */
TEST_FN void check(const char *what, test_bytes f, reid_result want, const char *detail) {
    char path[256];
    test_temp_path(path, "badfile");
    test_write_file(path, f.data, f.size);
    for (int from_file = 0; from_file < 2; from_file++) {
        reid_desc desc = REID_INIT;
        reid_error error;
        reid__mem mem;
        reid__weights w;
        test_heap heap = {0, 0, 0, 0, 0, 0, ' '}; /* a reader that runs past its text finds more text */
        desc.weights = from_file ? path : NULL;
        desc.weights_data = from_file ? NULL : (const void *)f.data;
        desc.weights_size = f.size;
        desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = &heap;
        reid__mem_init(&mem, &desc);
        reid__clear_error(&error);
        memset(&w, 0xa5, sizeof w);
        reid_result got = reid__weights_open(&w, &desc, &mem, &error);
        if (got != want)
            fail_msg("%s: %s instead of %s: %s", what, reid_result_name(got), reid_result_name(want), error.text);
        if (want != REID_OK) {
            assert_int_equal(error.code, want);
            if (strstr(error.text, from_file ? path : "weights_data: ") != error.text)
                fail_msg("%s: the message does not start with the path: %s", what, error.text);
            if (detail && !says(error.text, detail)) fail_msg("%s: no \"%s\" in: %s", what, detail, error.text);
            assert_true(w.tensors == NULL && w.count == 0 && !w.fd_open);
        }
        reid__weights_close(&w, &mem);
        reid__weights_close(&w, &mem);
        assert_int_equal(heap.live, 0);
        assert_int_equal(mem.used, 0);
        assert_int_equal(heap.wrong_size, 0);
        assert_true(heap.peak <= 7 * f.size + 512); /* no small file may need much memory */
        assert_int_equal(reid__weights_open(&w, &desc, &mem, NULL), want); /* and without a place for the message */
        reid__weights_close(&w, &mem);
    }
    unlink(path);
    free(f.data);
}

#endif
