/* reid convert's readers on files made by hand, without Python: values are read exactly; each kind of damage has its
   own message; every truncation and every flipped bit of a small file of each kind is survived.

   cc -std=c99 -D_GNU_SOURCE -O1 -I. -Itools tests/tools/weights/t_checkpoint.c tools/weights/checkpoint.c
      tools/weights/checkpoint_open.c tools/base/crc32.c tools/base/file_kind.c tools/base/memory.c tools/base/clock.c
      tools/weights/torch_file.c tools/weights/torch_state.c tools/weights/stated.c tools/weights/foreign_file.c
      tools/weights/onnx_file.c tools/weights/onnx_graph.c tools/weights/protobuf.c tools/weights/zip.c
      tools/base/source.c tools/base/json.c tools/base/text.c tools/base/say.c -o t_checkpoint
      tools/weights/pickle.c -lcmocka -lm && ./t_checkpoint */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "weights/checkpoint_open.h"
#include "../../lib/test_says.h"
#include "../../lib/test_zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    const char *s;
    size_t len;
} bytes;

#define B(literal) {literal, sizeof(literal) - 1}

/* Pickles. Texts and numbers are short, so a length is one byte and three zeros. */
#define TEXT(n, s) "X" n "\0\0\0" s
#define STORAGE(key, count) \
    "(" TEXT("\7", "storage") "ctorch\nFloatStorage\n" TEXT("\1", key) TEXT("\3", "cpu") count "tQ"
#define VIEW(storage, offset, shape, stride) \
    "ctorch._utils\n_rebuild_tensor_v2\n(" storage offset shape stride "\x89)tR"
#define T0 VIEW(STORAGE("0", "K\x10"), "K\0", "K\x02\x85", "K\x01\x85")
#define DICT(items) "\x80\2}(" items "u."
#define A TEXT("\1", "a")
#define BIG "\x8a\x08\0\0\0\0\0\0\0\x40" /* 2^62 */
#define MINUS "J\xff\xff\xff\xff"

static const float VALUES[16] = {0.5f, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* Puts the pickle into an archive with two storages, of 16 and 2 floats. */
static text archive(bytes pickle) {
    test_zip z = {TEXT_INIT, TEXT_INIT, 0};
    test_zip_add(&z, "a/data.pkl", pickle.s, pickle.len);
    test_zip_add(&z, "a/data/0", VALUES, sizeof VALUES);
    test_zip_add(&z, "a/data/1", VALUES, 8);
    test_zip_add(&z, "a/version", "3\n", 2);
    test_zip_end(&z);
    return z.file;
}

static void refused(const char *what, const void *data, size_t size, const char *message) {
    checkpoint c;
    text why = TEXT_INIT;
    char *exact = malloc(size + !size); /* of the exact size, so that a sanitizer sees an overrun */
    if (size) memcpy(exact, data, size);
    int good = checkpoint_open_memory(&c, exact, size, &why);
    if (good) {
        int unchecked;
        for (size_t i = 0; i < c.storage_count; i++) c.storages[i].needed = 1;
        good = checkpoint_verify(&c, &unchecked, &why);
        checkpoint_close(&c);
    }
    if (good) fail_msg("%s: was accepted", what);
    if (!says(why.s, message)) fail_msg("%s: no \"%s\" in: %s", what, message, why.s);
    assert_null(c.tensors);
    free(exact);
    text_free(&why);
}

typedef struct bad_row {
    const char *what;
    bytes file;
    const char *message;
} bad_row;

static const bad_row BAD_PICKLES[] = {
    {"empty", B(""), "byte 0 (instruction): the pickle ends early"},
    {"no end", B("\x80\2}"), "byte 3 (instruction): the pickle ends early"},
    {"unknown instruction", B("\x80\2\xff."), "byte 2: 0xff is not an instruction"},
    {"protocol 6", B("\x80\6N."), "protocols above 5 are not supported"},
    {"frame too long", B("\x80\4\x95\0\1\0\0\0\0\0\0N."), "the frame is longer than the file"},
    {"frame cut off", B("\x80\4\x95\0\1"), "(FRAME): the pickle ends early"},
    {"pop", B("\x80\2" "0."), "(POP): the stack is empty here"},
    {"pop mark", B("\x80\2" "1."), "(POP_MARK): there is no mark"},
    {"dup", B("\x80\2" "2."), "(DUP): the stack is empty here"},
    {"dup above a mark", B("\x80\2N(2."), "(DUP): the stack is empty here"},
    {"tuple without mark", B("\x80\2Nt."), "(TUPLE): there is no mark on the stack"},
    {"tuple of two from one", B("\x80\2N\x86."), "(TUPLE2): the stack is empty here"},
    {"tuple across a mark", B("\x80\2N(N\x86."), "(TUPLE2): the stack is empty here"},
    {"dict with an odd item", B("\x80\2(Nd."), "(DICT): a key has no value"},
    {"append to an integer", B("\x80\2K\1K\1a."), "(APPEND): this value cannot hold items"},
    {"append to nothing", B("\x80\2Na."), "(APPEND): the stack is empty here"},
    {"append to None", B("\x80\2NNa."), "(APPEND): this value cannot hold items"},
    {"item of a list", B("\x80\2]NNs."), "(SETITEM): this value cannot hold items"},
    {"odd items", B("\x80\2}(NNNu."), "(SETITEMS): a key has no value"},
    {"items of nothing", B("\x80\2(NNu."), "(SETITEMS): the stack is empty here"},
    {"add to a dict", B("\x80\4}(N\x90."), "(ADDITEMS): this value cannot hold items"},
    {"call of an integer", B("\x80\2K\1)R."), "(REDUCE): the object called is not a class"},
    {"arguments no tuple", B("\x80\2ca\nb\nNR."), "(REDUCE): arguments must be a tuple"},
    {"call of nothing", B("\x80\2)R."), "(REDUCE): the stack is empty here"},
    {"new of a string", B("\x80\2" TEXT("\1", "a") ")\x81."), "(NEWOBJ): the object called is not a class"},
    {"object of nothing", B("\x80\2(o."), "(OBJ): the stack is empty here"},
    {"instance without mark", B("\x80\2ia\nb\n."), "(INST): there is no mark"},
    {"state of an integer", B("\x80\2K\1Nb."), "(BUILD): this value cannot have a state"},
    {"memo: nothing there", B("\x80\2h\1."), "(BINGET): the memo has no such entry"},
    {"memo: a hole", B("\x80\2Nq\2h\1."), "(BINGET): the memo has no such entry"},
    {"memo: long, nothing there", B("\x80\2j\1\0\0\0."), "(LONG_BINGET): the memo has no such entry"},
    {"memo: absurd number", B("\x80\2Nr\xff\xff\xff\xff."), "larger than the pickle so far"},
    {"memo: of nothing", B("\x80\2q\0."), "(BINPUT): the stack is empty here"},
    {"memoize nothing", B("\x80\4\x94."), "(MEMOIZE): the stack is empty here"},
    {"id of nothing", B("\x80\2Q."), "(BINPERSID): the stack is empty here"},
    {"class of integers", B("\x80\4K\1K\1\x93."), "(STACK_GLOBAL): a class must be named by two strings"},
    {"class without end", B("\x80\2ctorch\n_utils"), "(GLOBAL): the pickle ends early"},
    {"text cut off", B("\x80\2X\x10\0\0\0abc."), "(BINUNICODE): the pickle ends early"},
    {"text of 2^63 bytes", B("\x80\4\x8d\0\0\0\0\0\0\0\x80" "abc."), "(BINUNICODE8): the pickle ends early"},
    {"string of -1 bytes", B("\x80\2T\xff\xff\xff\xff" "abc."), "(BINSTRING): the pickle ends early"},
    {"long integer cut off", B("\x80\2\x8a\x20" "abc."), "(LONG1): the pickle ends early"},
    {"number cut off", B("\x80\2J\1\2"), "(BININT): the pickle ends early"},
    {"extension", B("\x80\2\x82\1."), "(EXT1): extension codes are not supported"},
    {"buffer", B("\x80\5\x97."), "(NEXT_BUFFER): buffers outside the pickle"},
    {"protocol 0", B("I1\n."), "(INT): an instruction of protocol 0 or 1"},
    {"two objects", B("\x80\2NN."), "(STOP): the stack does not hold exactly one object"},
    {"no object", B("\x80\2."), "(STOP): the stack does not hold exactly one object"},
    {"a mark at the end", B("\x80\2N(."), "(STOP): the stack does not hold exactly one object"},
    {"OrderedDict of a number", B("\x80\2" "ccollections\nOrderedDict\nK\1\x85R."), "made from a list of pairs"},
    {"OrderedDict of singles", B("\x80\2" "ccollections\nOrderedDict\n](K\1e\x85R."), "made from a list of pairs"},
    {"an integer", B("\x80\2K\1."), "no tensors: the pickle holds an integer"},
    {"a class", B("\x80\2" "cos\nsystem\n."), "the pickle holds the class os.system"},
    {"a call", B("\x80\2" "cos\nsystem\n" TEXT("\4", "true") "\x85R."), "an object of class os.system"},
    {"an empty dict", B("\x80\2}."), "no tensors: the pickle holds a dict"},
    {"one tensor", B("\x80\2" T0 "."), "a single tensor, not the state_dict of a network"},
    {"a dict in itself", B("\x80\2}q\0(" A "h\0u."), "contains itself"},
    {"a list in itself", B("\x80\2]q\0h\0a."), "contains itself"},
    {"storage of a strange type", B(DICT(A "(" TEXT("\7", "storage") "cos\nsystem\n" TEXT("\1", "0") TEXT("\3", "cpu")
     "K\1tQ")), "a storage has an unknown type: the class os.system"},
    {"storage without type", B(DICT(A "(" TEXT("\7", "storage") "N" TEXT("\1", "0") TEXT("\3", "cpu") "K\1tQ")),
     "a storage has an unknown type: None"},
    {"storage without key", B(DICT(A "(" TEXT("\7", "storage") "ctorch\nFloatStorage\nNNK\1tQ")), "no key or no size"},
    {"storage without size", B(DICT(A "(" TEXT("\7", "storage") "ctorch\nFloatStorage\n" A "NNtQ")),
     "no key or no size"},
    {"storage key with a zero byte", B(DICT(A "(" TEXT("\7", "storage") "ctorch\nFloatStorage\n" TEXT("\2", "0\0")
     "NK\1tQ")), "a storage in the pickle has an invalid key"},
    {"storage of -1 elements", B(DICT(A VIEW(STORAGE("0", MINUS), "K\0", ")", ")"))), "elements: -1"},
    {"storage of 2^62 elements", B(DICT(A VIEW(STORAGE("0", BIG), "K\0", ")", ")"))), "elements"},
    {"storage of two sizes", B(DICT(A T0 TEXT("\1", "b") VIEW(STORAGE("0", "K\1"), "K\0", ")", ")"))),
     "storage \"0\" has two different sizes"},
    {"storage that is not there", B(DICT(A VIEW(STORAGE("7", "K\1"), "K\0", ")", ")"))), "no member \"a/data/7\""},
    {"storage longer than its member", B(DICT(A VIEW(STORAGE("1", "K\3"), "K\0", ")", ")"))),
     "\"a/data/1\" has 8 bytes, but its tensors need 12"},
    {"storage shorter than its member", B(DICT(A VIEW(STORAGE("1", "K\1"), "K\0", ")", ")"))),
     "\"a/data/1\" has 8 bytes, but its tensors need 4"},
    {"tensor without storage", B(DICT(A VIEW("N", "K\0", ")", ")"))), "tensor \"a\" has no storage"},
    {"tensor with another id", B(DICT(A VIEW("K\1Q", "K\0", ")", ")"))), "tensor \"a\" has no storage"},
    {"tensor without arguments", B(DICT(A "ctorch._utils\n_rebuild_tensor_v2\n)R")), "tensor \"a\" has no storage"},
    {"offset -1", B(DICT(A VIEW(STORAGE("0", "K\x10"), MINUS, ")", ")"))), "an invalid offset"},
    {"offset a float", B(DICT(A VIEW(STORAGE("0", "K\x10"), "G\0\0\0\0\0\0\0\0", ")", ")"))), "an invalid offset"},
    {"offset past the end", B(DICT(A VIEW(STORAGE("0", "K\x10"), "K\x10", ")", ")"))), "its storage has 64"},
    {"offset 2^62", B(DICT(A VIEW(STORAGE("0", "K\x10"), BIG, ")", ")"))), "its size overflows"},
    {"shape a number", B(DICT(A VIEW(STORAGE("0", "K\x10"), "K\0", "K\2", ")"))), "an invalid shape or stride"},
    {"shape -1", B(DICT(A VIEW(STORAGE("0", "K\x10"), "K\0", MINUS "\x85", "K\1\x85"))), "an invalid shape"},
    {"stride -1", B(DICT(A VIEW(STORAGE("0", "K\x10"), "K\2", "K\2\x85", MINUS "\x85"))), "an invalid shape"},
    {"shape of nine", B(DICT(A VIEW(STORAGE("0", "K\x10"), "K\0", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t",
     "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t"))), "at most 8 dimensions"},
    {"fewer strides than sides", B(DICT(A VIEW(STORAGE("0", "K\x10"), "K\0", "K\2K\2\x86", "K\1\x85"))),
     "an invalid shape or stride"},
    {"2^62 x 2^62", B(DICT(A VIEW(STORAGE("0", "K\x10"), "K\0", BIG BIG "\x86", "K\1K\1\x86"))), "its size overflows"},
    {"2^62 with stride 2^62", B(DICT(A VIEW(STORAGE("0", "K\x10"), "K\0", BIG "\x85", BIG "\x85"))),
     "its size overflows"},
    {"one too many", B(DICT(A VIEW(STORAGE("0", "K\x10"), "K\0", "K\x11\x85", "K\1\x85"))), "68 bytes from byte 0 on"},
    {"one too far", B(DICT(A VIEW(STORAGE("0", "K\x10"), "K\2", "K\3\x85", "K\7\x85"))), "60 bytes from byte 8 on"},
    {"unknown dtype", B(DICT(A "ctorch._utils\n_rebuild_tensor_v3\n(" STORAGE("0", "K\x10") "K\0))\x89)ca\nb\ntR")),
     "has an unknown dtype"},
    {"a name with a zero byte", B(DICT(TEXT("\2", "a\0") T0)), "511 bytes or contains a zero byte"},
    {"the same name twice", B(DICT(A T0 A T0)), "two tensors are named \"a\""},
    {"two names that look alike", B(DICT("K\1" T0 TEXT("\1", "1") T0)), "two tensors are named \"1\""},
    {"a legacy view at -1", B(DICT(A VIEW("(" TEXT("\7", "storage") "ctorch\nFloatStorage\n" TEXT("\1", "0") TEXT("\3",
     "cpu") "K\x10" TEXT("\1", "v") MINUS "K\1\x87tQ", "K\0", ")", ")"))), "an invalid part of its storage"},
};

static void test_pickles(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof BAD_PICKLES / sizeof *BAD_PICKLES; i++) {
        text file = archive(BAD_PICKLES[i].file);
        refused(BAD_PICKLES[i].what, file.s, file.len, BAD_PICKLES[i].message);
        text_free(&file);
    }
}

/* Pickles that are too large to write out in the source. */
static void test_bombs(void **state) {
    text p = TEXT_INIT, file;
    (void)state;
    text_add(&p, "\x80\2)", 3);
    for (int i = 0; i < 1000000; i++) text_add(&p, "\x85", 1);
    text_puts(&p, ".");
    file = archive((bytes){p.s, p.len});
    refused("a million nested tuples", file.s, file.len, "no tensors: the pickle holds a tuple");
    text_free(&file);

    text_clear(&p);
    text_add(&p, "\x80\2", 2);
    for (int i = 0; i < 1000000; i++) text_puts(&p, "]");
    for (int i = 1; i < 1000000; i++) text_puts(&p, "a");
    text_puts(&p, ".");
    file = archive((bytes){p.s, p.len});
    refused("a million nested lists", file.s, file.len, "no tensors: the pickle holds a list");
    text_free(&file);

    text_clear(&p);
    text_add(&p, "\x80\2]q\0", 5);
    for (int i = 0; i < 200; i++) text_add(&p, "0](h\0h\0eq\0", 10); /* each contains the previous one twice */
    text_puts(&p, ".");
    file = archive((bytes){p.s, p.len});
    refused("a list of 2^200 paths", file.s, file.len, "no tensors: the pickle holds a list");
    text_free(&file);

    text_clear(&p);
    text_add(&p, "\x80\2(", 3);
    for (int i = 0; i < 4500000; i++) text_add(&p, "K\1", 2);
    text_puts(&p, "t.");
    file = archive((bytes){p.s, p.len});
    refused("too many objects", file.s, file.len, "more than four million objects");
    text_free(&file);

    text_clear(&p);
    text_add(&p, "\x80\2" "ccollections\nOrderedDict\nq\0](", 31);
    for (int i = 0; i < 1000; i++) text_add(&p, "NN\x86", 3);
    text_add(&p, "e\x85q\1", 4);
    for (int i = 0; i < 20000; i++) text_add(&p, "h\0h\1R0", 6);
    text_puts(&p, ".");
    file = archive((bytes){p.s, p.len});
    refused("one list for many dicts", file.s, file.len, "more than four million objects");
    text_free(&file);
    text_free(&p);
}

/* A great many tensors and names. */
static void test_floods(void **state) {
    text p = TEXT_INIT, file;
    (void)state;
    text_add(&p, "\x80\2}(X\x58\2\0\0", 9); /* a name of 600 bytes */
    for (int i = 0; i < 600; i++) text_puts(&p, "x");
    text_add(&p, T0 "u.", sizeof(T0 "u.") - 1);
    file = archive((bytes){p.s, p.len});
    refused("a long name", file.s, file.len, "the name of a tensor has more than 511 bytes");
    text_free(&file);

    text_clear(&p); /* one tensor in many places */
    text_add(&p, "\x80\2" T0 "q\0000](", sizeof("\x80\2" T0 "q\0000](") - 1);
    for (int i = 0; i < 70000; i++) text_add(&p, "}" A "h\0s", sizeof("}" A "h\0s") - 1);
    text_puts(&p, "e.");
    file = archive((bytes){p.s, p.len});
    refused("many dicts", file.s, file.len, "tensors are spread over more than 65536 dicts");
    text_free(&file);

    text_clear(&p);
    text_add(&p, "\x80\2" T0 "q\0000}(", sizeof("\x80\2" T0 "q\0000}(") - 1);
    for (uint32_t i = 0; i < 140000; i++) {
        text_puts(&p, "J");
        test_number(&p, i, 4);
        text_add(&p, "h\0", 2);
    }
    text_puts(&p, "u.");
    file = archive((bytes){p.s, p.len});
    refused("many tensors", file.s, file.len, "more than 131072 tensors");
    text_free(&file);

    text_clear(&p); /* an object with a long state, which must be searched only once for what makes it a model */
    text_add(&p, "\x80\2](ca\nb\n)R}(", 13);
    for (int i = 0; i < 200000; i++) text_add(&p, "K\1N", 3);
    text_add(&p, "ubq\0", 4);
    for (int i = 0; i < 500000; i++) text_add(&p, "h\0", 2);
    text_puts(&p, "e.");
    file = archive((bytes){p.s, p.len});
    refused("one object in many places", file.s, file.len, "no tensors");
    text_free(&file);

    text_clear(&p); /* dicts in dicts: the search must end */
    text_add(&p, "\x80\2", 2);
    for (int i = 0; i < 100; i++) text_add(&p, "}" A, sizeof("}" A) - 1);
    text_add(&p, T0, sizeof(T0) - 1);
    for (int i = 0; i < 100; i++) text_puts(&p, "s");
    text_puts(&p, ".");
    file = archive((bytes){p.s, p.len});
    refused("a hundred dicts", file.s, file.len, "no tensors");
    text_free(&file);
    text_free(&p);
}

/* --- values ------------------------------------------------------------------------------------------------------- */

typedef struct got {
    unsigned char bytes[256];
    size_t size;
} got;

static int take(void *user, const void *bytes, size_t size) {
    got *g = user;
    assert_true(size <= sizeof g->bytes - g->size);
    memcpy(g->bytes + g->size, bytes, size);
    g->size += size;
    return 1;
}

static const tensor *find(const checkpoint *c, const char *name) {
    for (size_t i = 0; i < c->tensor_count; i++)
        if (strcmp(c->tensors[i].name, name) == 0) return &c->tensors[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static void expect_floats(const checkpoint *c, const char *name, const float *values, int count) {
    got g = {{0}, 0};
    text why = TEXT_INIT;
    const tensor *t = find(c, name);
    assert_true(checkpoint_values(c, t, take, &g, &why));
    if (g.size != (size_t)count * 4 || (count && memcmp(g.bytes, values, g.size) != 0))
        fail_msg("%s has other values", name);
    text_free(&why);
}

static void open_good(checkpoint *c, const void *data, size_t size) {
    text why = TEXT_INIT;
    if (!checkpoint_open_memory(c, data, size, &why)) fail_msg("%s", why.s);
    text_free(&why);
}

static void test_views(void **state) {
    static const char pickle[] = DICT(
        TEXT("\1", "v") VIEW(STORAGE("0", "K\x10"), "K\1", "K\3\x85", "K\5\x85")
        TEXT("\1", "t") VIEW(STORAGE("0", "K\x10"), "K\0", "K\2K\3\x86", "K\1K\2\x86")
        TEXT("\1", "e") VIEW(STORAGE("0", "K\x10"), "K\2", "K\4\x85", "K\0\x85")
        TEXT("\1", "s") VIEW(STORAGE("1", "K\2"), "K\1", ")", ")")
        TEXT("\1", "z") VIEW(STORAGE("1", "K\2"), "K\2", "K\0K\3\x86", "K\3K\1\x86")
        TEXT("\1", "p") "ctorch._utils\n_rebuild_parameter\n(" T0 "\x88)tR"
        TEXT("\1", "o") "ctorch.nn.parameter\nParameter\n(" T0 "\x88tR"
        TEXT("\1", "f") "ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\nctorch\nTensor\n("
        STORAGE("0", "K\x10") "K\x0f))\x89)t}tR"
        TEXT("\1", "c") "ctorch\nSize\n(K\1tR");
    checkpoint c;
    text file = archive((bytes)B(pickle));
    (void)state;
    open_good(&c, file.s, file.len);
    assert_int_equal(c.tensor_count, 8);
    expect_floats(&c, "v", (float[]){1, 6, 11}, 3);
    expect_floats(&c, "t", (float[]){0.5f, 2, 4, 1, 3, 5}, 6);
    expect_floats(&c, "e", (float[]){2, 2, 2, 2}, 4);
    expect_floats(&c, "s", (float[]){1}, 1);
    expect_floats(&c, "z", NULL, 0);
    expect_floats(&c, "p", (float[]){0.5f, 1}, 2);
    expect_floats(&c, "o", (float[]){0.5f, 1}, 2);
    expect_floats(&c, "f", (float[]){15}, 1);
    checkpoint_close(&c);
    text_free(&file);
}

static void test_big_endian(void **state) {
    static const char pickle[] = DICT(A T0);
    test_zip z = {TEXT_INIT, TEXT_INIT, 0};
    checkpoint c;
    (void)state;
    test_zip_add(&z, "x/data.pkl", pickle, sizeof pickle - 1);
    test_zip_add(&z, "x/byteorder", "big", 3);
    char swapped[64] = {0x3f, 0, 0, 0, 0x40, 0x40, 0, 0};
    test_zip_add(&z, "x/data/0", swapped, sizeof swapped);
    test_zip_end(&z);
    open_good(&c, z.file.s, z.file.len);
    expect_floats(&c, "a", (float[]){0.5f, 3}, 2);
    checkpoint_close(&c);
    text_free(&z.file);
}

/* --- zip ---------------------------------------------------------------------------------------------------------- */

static const char GOOD[] = DICT(A T0);

/* Changes bytes of a valid archive. */
typedef struct zip_row {
    const char *what;
    const char *mark; /* the last occurrence of these bytes ... */
    int mark_len;
    int at;           /* ... plus this */
    bytes put;
    const char *message;
} zip_row;

#define END "PK\5\6", 4
#define ENTRY "PK\1\2", 4

static const zip_row BAD_ZIPS[] = {
    {"no end", END, 0, B("PK\0\0"), "no directory at its end"},
    {"a comment that is not there", END, 20, B("\1"), "no directory at its end"},
    {"several parts", END, 4, B("\1"), "multi-part zip archive"},
    {"too many entries", END, 10, B("\xff\x0f"), "do not fit into the zip archive's directory"},
    {"directory too long", END, 12, B("\xff\xff\xff"), "directory lies outside the file"},
    {"directory elsewhere", END, 16, B("\xff\xff\xff"), "directory lies outside the file"},
    {"directory shifted", END, 16, B("\1"), "directory"},
    {"entry damaged", ENTRY, 0, B("QQ"), "entry 3 of the zip archive's directory is damaged"},
    {"name too long", ENTRY, 28, B("\xff\xff"), "is cut off"},
    {"extra field too long", ENTRY, 30, B("\xff\xff"), "is cut off"},
    {"name with a zero byte", "a/data/1\x50\x4b\x01", 11, 1, B("\0"), "a zip member's name contains a zero byte"},
    {"no zip64 field", ENTRY, 42, B("\xff\xff\xff\xff"), "damaged zip64 field"},
    {"two sizes", ENTRY, 20, B("\1"), "has two different sizes"},
    {"header elsewhere", ENTRY, 42, B("\xff\xff\xff"), "lies outside the file"},
    {"the same name twice", "a/data/1\x50\x4b\x01", 11, 7, B("0"), "two members named \"a/data/0\""},
};

static size_t last_place(const text *file, const char *mark, size_t len) {
    for (size_t at = file->len - len + 1; at-- > 0;)
        if (memcmp(file->s + at, mark, len) == 0) return at;
    fail_msg("the mark is not there");
    return 0;
}

/* Local headers, found by the name of their member. */
static size_t local_header(const text *file, const char *name) {
    for (size_t at = 0; at + 30 + strlen(name) < file->len; at++)
        if (memcmp(file->s + at, "PK\3\4", 4) == 0 && memcmp(file->s + at + 30, name, strlen(name)) == 0) return at;
    fail_msg("no member %s", name);
    return 0;
}

static size_t entry(const text *file, const char *name) {
    for (size_t at = 0; at + 46 + strlen(name) < file->len; at++)
        if (memcmp(file->s + at, "PK\1\2", 4) == 0 && memcmp(file->s + at + 46, name, strlen(name)) == 0) return at;
    fail_msg("no entry %s", name);
    return 0;
}

static void patched(const char *what, size_t at_of(const text *, const char *), const char *name, size_t offset,
                    bytes put, const char *message) {
    text file = archive((bytes)B(GOOD));
    memcpy(file.s + at_of(&file, name) + offset, put.s, put.len);
    refused(what, file.s, file.len, message);
    text_free(&file);
}

static void test_zips(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof BAD_ZIPS / sizeof *BAD_ZIPS; i++) {
        const zip_row *r = &BAD_ZIPS[i];
        text file = archive((bytes)B(GOOD));
        memcpy(file.s + last_place(&file, r->mark, (size_t)r->mark_len) + r->at, r->put.s, r->put.len);
        refused(r->what, file.s, file.len, r->message);
        text_free(&file);
    }
    patched("deflated", entry, "a/data/0", 10, (bytes)B("\10"), "\"a/data/0\" is compressed (deflate)");
    patched("compressed otherwise", entry, "a/data.pkl", 10, (bytes)B("\14"), "is compressed (another method)");
    patched("encrypted", entry, "a/data/0", 8, (bytes)B("\1"), "\"a/data/0\" is encrypted");
    patched("no header of its own", local_header, "a/data/0", 0, (bytes)B("QQ"), "has no local header");
    patched("reaching too far", local_header, "a/data/0", 28, (bytes)B("\xff\xff"), "overlaps the directory");
    patched("wrong checksum", entry, "a/data/0", 16, (bytes)B("\1\2\3\4"),
            "\"0\" has a wrong checksum; the file is damaged");
    patched("wrong checksum of the pickle", entry, "a/data.pkl", 16, (bytes)B("\1\2\3\4"), "\"data.pkl\" has a wrong");
    patched("damaged values", local_header, "a/data/0", 40, (bytes)B("\1"), "\"0\" has a wrong checksum");
    patched("no pickle", entry, "a/data.pkl", 46, (bytes)B("a/dota.pkl"), "without data.pkl");
}

static void test_zip_others(void **state) {
    static const struct { const char *member, *message; } rows[] = {
        {"array.npy", "a NumPy archive"}, {"folder/model.pth", "with a checkpoint inside"},
        {"config.json", "without data.pkl"}, {"m/model.weights.h5", "a Keras model"},
        {"m/serialized_exported_program.json", "torch.export"},
    };
    static const char pickle[] = DICT(A T0);
    test_zip z = {TEXT_INIT, TEXT_INIT, 0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_zip one = {TEXT_INIT, TEXT_INIT, 0};
        test_zip_add(&one, rows[i].member, "abc", 3);
        test_zip_end(&one);
        refused(rows[i].member, one.file.s, one.file.len, rows[i].message);
        text_free(&one.file);
    }
    test_zip_add(&z, "m/data.pkl", pickle, sizeof pickle - 1);
    test_zip_add(&z, "m/constants.pkl", "abc", 3);
    test_zip_end(&z);
    refused("TorchScript", z.file.s, z.file.len, "a TorchScript archive (torch.jit.save)");
    text_free(&z.file);

    test_zip order = {TEXT_INIT, TEXT_INIT, 0};
    test_zip_add(&order, "m/data.pkl", pickle, sizeof pickle - 1);
    test_zip_add(&order, "m/data/0", VALUES, sizeof VALUES);
    test_zip_add(&order, "m/byteorder", "middle", 6);
    test_zip_end(&order);
    refused("byte order", order.file.s, order.file.len, "must contain little or big");
    text_free(&order.file);
}

/* Two storages at the same offset. */
static void test_zip_overlap(void **state) {
    static const char pickle[] = DICT(A VIEW(STORAGE("0", "K\2"), "K\0", ")", ")") TEXT("\1", "b")
                                      VIEW(STORAGE("1", "K\2"), "K\0", ")", ")"));
    test_zip z = {TEXT_INIT, TEXT_INIT, 0};
    (void)state;
    test_zip_add(&z, "a/data.pkl", pickle, sizeof pickle - 1);
    test_zip_add(&z, "a/data/0", VALUES, 8);
    test_zip_add(&z, "a/data/1", VALUES, 8);
    test_zip_end(&z);
    memcpy(z.file.s + entry(&z.file, "a/data/1") + 42, z.file.s + entry(&z.file, "a/data/0") + 42, 4);
    refused("overlap", z.file.s, z.file.len, "storages \"0\" and \"1\" overlap");
    text_free(&z.file);
}

/* An archive with zip64 end record and locator, as torch writes them beyond 4 GB, and an entry with a zip64 field. */
static text archive64(uint64_t end64_at_plus, const char *signature) {
    static const char pickle[] = DICT(A T0);
    test_zip z = {TEXT_INIT, TEXT_INIT, 0};
    test_zip_add(&z, "a/data.pkl", pickle, sizeof pickle - 1);
    size_t header = z.file.len;
    test_zip_add(&z, "a/data/0", VALUES, sizeof VALUES);
    size_t last = z.directory.len - 46 - strlen("a/data/0");
    memset(z.directory.s + last + 20, 0xff, 8);
    memset(z.directory.s + last + 42, 0xff, 4);
    z.directory.s[last + 30] = 28;
    test_number(&z.directory, 1, 2);
    test_number(&z.directory, 24, 2);
    test_number(&z.directory, sizeof VALUES, 8);
    test_number(&z.directory, sizeof VALUES, 8);
    test_number(&z.directory, header, 8);
    size_t at = z.file.len, size = z.directory.len;
    text_add(&z.file, z.directory.s, size);
    size_t end64 = z.file.len;
    text_add(&z.file, signature, 4);
    test_number(&z.file, 44, 8);
    test_number(&z.file, 0, 4);
    test_number(&z.file, 0, 8);
    test_number(&z.file, 2, 8);
    test_number(&z.file, 2, 8);
    test_number(&z.file, size, 8);
    test_number(&z.file, at, 8);
    text_add(&z.file, "PK\6\7\0\0\0\0", 8);
    test_number(&z.file, end64 + end64_at_plus, 8);
    test_number(&z.file, 1, 4);
    text_add(&z.file, "PK\5\6\0\0\0\0", 8);
    memset(z.directory.s, 0xff, 12);
    text_add(&z.file, z.directory.s, 12);
    test_number(&z.file, 0, 2);
    text_free(&z.directory);
    return z.file;
}

static void test_zip64(void **state) {
    checkpoint c;
    (void)state;
    text file = archive64(0, "PK\6\6");
    open_good(&c, file.s, file.len);
    expect_floats(&c, "a", VALUES, 2);
    checkpoint_close(&c);
    text_free(&file);
    file = archive64(1000, "PK\6\6");
    refused("zip64 record elsewhere", file.s, file.len, "zip64 record lies outside");
    text_free(&file);
    file = archive64(0, "PK\6\0");
    refused("zip64 record damaged", file.s, file.len, "zip64 record is damaged");
    text_free(&file);
}

/* --- stream, tar, text -------------------------------------------------------------------------------------------- */

#define MAGIC "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." "\x80\2M\xe9\3."
#define FACTS "\x80\2}(" TEXT("\15", "little_endian") "\x88u."
#define TWO "\2\0\0\0\0\0\0\0" "\0\0\0\x3f\0\0\x80\x3f"
#define OBJECT DICT(A VIEW(STORAGE("0", "K\2"), "K\0", "K\2\x85", "K\1\x85"))
#define KEYS "\x80\2](" TEXT("\1", "0") "e."

static const bad_row BAD_STREAMS[] = {
    {"a plain pickle", B("\x80\2}."), "a plain Python pickle of a dict, not a torch.save file"},
    {"a plain pickle of a class", B("\x80\4\x8c\1a\x8c\1b\x93)R."), "a plain Python pickle of an object of class a.b"},
    {"only the magic number", B("\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."), "the pickle ends early"},
    {"another number", B("\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x1a."),
     "a plain Python pickle of an integer"},
    {"no object", B(MAGIC FACTS), "the pickle ends early"},
    {"no keys", B(MAGIC FACTS OBJECT), "the pickle ends early"},
    {"keys no list", B(MAGIC FACTS OBJECT "\x80\2N."), "the list of storages is missing"},
    {"no values", B(MAGIC FACTS OBJECT KEYS), "the file ends early"},
    {"values cut off", B(MAGIC FACTS OBJECT KEYS "\2\0\0\0\0\0\0\0" "\0\0\0\x3f"), "more than the file holds"},
    {"a strange count", B(MAGIC FACTS OBJECT KEYS "\1\0\0\0\0\0\0\0" "\0\0\0\x3f"), "4 bytes, but its tensors need 8"},
    {"count -1", B(MAGIC FACTS OBJECT KEYS "\xff\xff\xff\xff\xff\xff\xff\xff"), "more than the file holds"},
    {"a strange key", B(MAGIC FACTS OBJECT "\x80\2](" TEXT("\1", "7") "e." TWO), "a key that no tensor uses"},
    {"a key that is a number", B(MAGIC FACTS OBJECT "\x80\2](K\1e." TWO), "a key that no tensor uses"},
    {"a key twice", B(MAGIC FACTS OBJECT "\x80\2](" TEXT("\1", "0") TEXT("\1", "0") "e." TWO TWO), "names \"0\" twice"},
    {"a key missing", B(MAGIC FACTS OBJECT "\x80\2]."), "the values of storage \"0\" are missing"},
};

static const bad_row BAD_FILES[] = {
    {"empty", B(""), "the file is empty"},
    {"zeros", B("\0\0\0\0\0\0\0\0\0\0\0\0"), "the file begins with nothing but zeros"},
    {"LFS", B("version https://git-lfs.github.com/spec/v1\noid sha256:1\n"), "a Git LFS pointer"},
    {"HTML", B("<!DOCTYPE html><html>"), "a web page"},
    {"html", B("<html><body>404"), "a web page"},
    {"XML", B("<?xml version=\"1.0\"?><Error>"), "a web page"},
    {"JSON", B("{\"weight_map\": {}}"), "JSON text, perhaps the index"},
    {"JSON with a brace where safetensors has one", B("{\"meta\":{}}"), "JSON text, perhaps the index"},
    {"gzip", B("\x1f\x8b\x08\0\0\0\0\0\0"), "gzip data; unpack it first"},
    {"7z", B("7z\xbc\xaf\x27\x1c\0\4"), "a 7z archive; unpack it first"},
    {"xz", B("\xfd" "7zXZ\0\0\4"), "xz data; unpack it first"},
    {"bzip2", B("BZh91AY&SY"), "bzip2 data; unpack it first"},
    {"zstd", B("\x28\xb5\x2f\xfd\0\0\0\0\0"), "zstd data; unpack it first"},
    {"RAR", B("Rar!\x1a\7\0\0\0"), "a RAR archive; unpack it first"},
    {"Keras", B("\x89HDF\r\n\x1a\n\0"), "weights would give other embeddings here: use weights trained with PyTorch"},
    {"NumPy", B("\x93NUMPY\1\0v\0"), "a NumPy array"},
    {"ONNX", B("\x08\x07\x12\x07pytorch"), "the ONNX file has no graph"},
    {"GGUF", B("GGUF\3\0\0\0\0\0"), "a GGUF file"},
    {"TFLite", B("\x1c\0\0\0TFL3\0\0"), "a TensorFlow Lite file"},
    {"PNG", B("\x89PNG\r\n\x1a\n\0"), "an image"},
    {"JPEG", B("\xff\xd8\xff\xe0\0\x10JFIF"), "an image"},
    {"ELF", B("\x7f" "ELF\2\1\1\0\0"), "a program or library"},
    {"empty zip", B("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "an empty zip archive"},
    {"half a zip", B("PK\3\4\24\0\0\0\10\0abcdef"), "was it downloaded completely?"},
    {"text", B("These are not the weights."), "text; give the file"},
    {"noise", B("\x99\1\2\3\4\5\6\7\1\2\3\4"), "the format is unknown; expected PyTorch"},

    {"wts: no number of tensors", B("0\n"), "does not begin with the number of tensors"},
    {"wts: too many", B("99999999999\n"), "does not begin with the number of tensors"},
    {"wts: a tensor missing", B("2\na 1 0\n"), "tensor 1 is missing"},
    {"wts: no count", B("1\na\n"), "tensor \"a\" has no number of values"},
    {"wts: a count that is none", B("1\na x 0\n"), "tensor \"a\" has no number of values"},
    {"wts: count -1", B("1\na -1 0\n"), "tensor \"a\" has no number of values"},
    {"wts: a value missing", B("1\na 2 0\n"), "value 1 of 2 is not a hexadecimal word"},
    {"wts: absurd count", B("1\na 1099511627776 0\n"), "value 1 of 1099511627776"},
    {"wts: no hexadecimal", B("1\na 2 0 xyz\n"), "value 1 of 2 is not a hexadecimal word"},
    {"wts: nine digits", B("1\na 1 123456789\n"), "value 0 of 1 is not a hexadecimal word"},
    {"wts: more text", B("1\na 1 0\nb"), "text follows the last of 1 tensor"},
    {"wts: a name twice", B("2\na 1 0\na 1 0\n"), "two tensors are named \"a\""},

    {"safetensors: header too long", B("\xff\0\0\0\0\0\0\0{}"), "255 bytes, but the file has 10"},
    {"safetensors: no JSON", B("\2\0\0\0\0\0\0\0{]"), "safetensors header: line 1"},
    {"safetensors: no tensors", B("\2\0\0\0\0\0\0\0{}"), "no tensors"},
};

static void test_files(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof BAD_STREAMS / sizeof *BAD_STREAMS; i++)
        refused(BAD_STREAMS[i].what, BAD_STREAMS[i].file.s, BAD_STREAMS[i].file.len, BAD_STREAMS[i].message);
    for (size_t i = 0; i < sizeof BAD_FILES / sizeof *BAD_FILES; i++)
        refused(BAD_FILES[i].what, BAD_FILES[i].file.s, BAD_FILES[i].file.len, BAD_FILES[i].message);
}

static text safetensors(const char *json, size_t data) {
    text t = TEXT_INIT;
    test_number(&t, strlen(json), 8);
    for (const char *s = json; *s; s++) text_putc(&t, *s == '\'' ? '"' : *s);
    for (size_t i = 0; i < data; i++) text_putc(&t, (int)i);
    return t;
}

static void test_safetensors(void **state) {
    static const struct { const char *what, *json, *message; } rows[] = {
        {"unknown dtype", "{'a':{'dtype':'F7','shape':[2],'data_offsets':[0,8]}}", "unknown dtype (tensor \"a\")"},
        {"too few bytes", "{'a':{'dtype':'F32','shape':[3],'data_offsets':[0,8]}}", "do not match its shape"},
        {"backwards", "{'a':{'dtype':'F32','shape':[2],'data_offsets':[8,0]}}", "do not match its shape"},
        {"past the end", "{'a':{'dtype':'F32','shape':[2],'data_offsets':[8,16]}}", "extend past the end"},
        {"no dtype", "{'a':{'shape':[2],'data_offsets':[0,8]}}", "expected dtype, shape and data_offsets"},
        {"two dtypes", "{'a':{'dtype':'F32','dtype':'F32','shape':[2],'data_offsets':[0,8]}}", "expected dtype, shape"},
        {"a strange field", "{'a':{'type':'F32','shape':[2],'data_offsets':[0,8]}}", "expected dtype, shape"},
        {"one offset", "{'a':{'dtype':'F32','shape':[2],'data_offsets':[8]}}", "expected dtype, shape"},
        {"three offsets", "{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8,9]}}", "the list is too long"},
        {"nine sides", "{'a':{'dtype':'F32','shape':[1,1,1,1,1,1,1,1,1],'data_offsets':[0,4]}}",
         "the list is too long"},
        {"half a side", "{'a':{'dtype':'F32','shape':[2.5],'data_offsets':[0,8]}}", "a whole number (tensor \"a\")"},
        {"a negative side", "{'a':{'dtype':'F32','shape':[-2],'data_offsets':[0,8]}}", "a whole number (tensor \"a\")"},
        {"an enormous side", "{'a':{'dtype':'F32','shape':[9007199254740992,9007199254740992],'data_offsets':[0,8]}}",
         "do not match its shape"},
        {"text after it", "{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]}}x", "text after the end"},
        {"the same name twice", "{'a':{'dtype':'F32','shape':[1],'data_offsets':[0,4]},"
         "'a':{'dtype':'F32','shape':[1],'data_offsets':[4,8]}}", "two tensors are named \"a\""},
        {"metadata no text", "{'__metadata__':{'a':1}}", "expected a string"},
    };
    checkpoint c;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text file = safetensors(rows[i].json, 8);
        refused(rows[i].what, file.s, file.len, rows[i].message);
        text_free(&file);
    }
    text file = safetensors("{'__metadata__':{'reid.preset':'mega','reid.last_stride':'1','x':'y'},"
                            "'a':{'dtype':'F32','shape':[1,2],'data_offsets':[0,8]}}", 8);
    open_good(&c, file.s, file.len);
    assert_string_equal(c.preset, "mega");
    assert_string_equal(c.last_stride, "1");
    assert_int_equal(c.tensors[0].ndim, 2);
    checkpoint_close(&c);
    text_free(&file);
}

static text stream_file(void) {
    static const char s[] = MAGIC FACTS OBJECT KEYS TWO;
    text t = TEXT_INIT;
    text_add(&t, s, sizeof s - 1);
    return t;
}

static text wts_file(void) {
    text t = TEXT_INIT;
    text_puts(&t, "2\na 2 3f000000 3f800000\nlayer.weight 3 0 1 ABCDEF01\n");
    return t;
}

/* Appends a tar header and its content, padded to a block. */
static void tar_add(text *t, const char *name, const void *data, size_t size) {
    char header[512] = {0};
    snprintf(header, 100, "%s", name);
    snprintf(header + 124, 12, "%011lo", (unsigned long)size);
    memcpy(header + 257, "ustar", 6);
    text_add(t, header, sizeof header);
    text_add(t, data, size);
    while (t->len % 512) text_putc(t, 0);
}

#define TAR_STORAGES "\x80\2K\1." "\x80\2(K\5" TEXT("\3", "cpu") "ctorch\nFloatStorage\nt." TWO "\x80\2]."
#define TAR_TENSOR "\x80\2K\1." "\x80\2(K\7K\5Nt."
#define ONE_SIDE "\1\0\0\0\0\0\0\0" "\2\0\0\0\0\0\0\0" "\1\0\0\0\0\0\0\0" "\0\0\0\0\0\0\0\0"
#define TAR_PICKLE "\x80\2}(" A TEXT("\1", "7") "Qu."

static text tar_file(bytes storages, bytes tensors, bytes object) {
    static const char facts[] = FACTS;
    text t = TEXT_INIT;
    tar_add(&t, "sys_info", facts, sizeof facts - 1);
    tar_add(&t, "pickle", object.s, object.len);
    tar_add(&t, "tensors", tensors.s, tensors.len);
    tar_add(&t, "./storages", storages.s, storages.len);
    return t;
}

static const bytes STORAGES_OK = B(TAR_STORAGES), TENSORS_OK = B(TAR_TENSOR ONE_SIDE), PICKLE_OK = B(TAR_PICKLE);

static void test_tar(void **state) {
    static const struct { const char *what; bytes part[3]; const char *message; } rows[] = {
        {"no number of storages", {B("\x80\2N."), B(""), B("")}, "the number of storages or tensors is missing"},
        {"minus one storage", {B("\x80\2" MINUS "."), B(""), B("")}, "the number of storages or tensors is missing"},
        {"storage without key", {B("\x80\2K\1." "\x80\2(NNNt."), B(""), B("")}, "has no key"},
        {"storage without type", {B("\x80\2K\1." "\x80\2(K\5NNt."), B(""), B("")}, "a storage has an unknown type"},
        {"storage cut off",
         {B("\x80\2K\1." "\x80\2(K\5Nctorch\nFloatStorage\nt." "\2\0\0\0\0\0\0\0" "abc"), B(""), B("")},
         "more than the file holds"},
        {"two storages of one key", {B("\x80\2K\2." "\x80\2(K\5Nctorch\nFloatStorage\nt." TWO
         "\x80\2(K\5Nctorch\nFloatStorage\nt." TWO "\x80\2]."), B(""), B("")}, "two storages have the key \"5\""},
        {"storages in storages", {B("\x80\2K\0." "\x80\2](Ne."), B(""), B("")}, "parts of others are not supported"},
        {"no list at the end", {B("\x80\2K\0."), B(""), B("")}, "the pickle ends early"},
        {"no tensors", {B(TAR_STORAGES), B(""), B("")}, "the pickle ends early"},
        {"tensor of another storage", {B(TAR_STORAGES), B("\x80\2K\1." "\x80\2(K\7K\6Nt."), B("")},
         "tensor 7 has no storage"},
        {"tensor without shape", {B(TAR_STORAGES), B(TAR_TENSOR "\1\0"), B("")}, "the list of tensors ends early"},
        {"tensor without strides", {B(TAR_STORAGES), B(TAR_TENSOR "\1\0\0\0\0\0\0\0\1"), B("")}, "ends early"},
        {"nine sides", {B(TAR_STORAGES), B(TAR_TENSOR "\x9\0\0\0\0\0\0\0"), B("")}, "tensor 7 has 9 dimensions"},
        {"the same tensor twice",
         {B(TAR_STORAGES), B("\x80\2K\2." "\x80\2(K\7K\5Nt." ONE_SIDE "\x80\2(K\7K\5Nt." ONE_SIDE),
         B("")}, "two tensors have the key \"7\""},
        {"tensor past the end", {B(TAR_STORAGES), B(TAR_TENSOR "\1\0\0\0\0\0\0\0" "\3\0\0\0\0\0\0\0" "\1\0\0\0\0\0\0\0"
         "\0\0\0\0\0\0\0\0"), B(TAR_PICKLE)}, "12 bytes from byte 0 on, but its storage has 8"},
        {"no object", {B(TAR_STORAGES), B(TAR_TENSOR ONE_SIDE), B("")}, "the pickle ends early"},
        {"an object without tensors", {B(TAR_STORAGES), B(TAR_TENSOR ONE_SIDE), B("\x80\2}.")}, "no tensors"},
        {"a tensor of another name", {B(TAR_STORAGES), B(TAR_TENSOR ONE_SIDE), B("\x80\2}(" A "K\10Qu.")},
         "no tensors"},
    };
    checkpoint c;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text file = tar_file(rows[i].part[0], rows[i].part[1], rows[i].part[2]);
        refused(rows[i].what, file.s, file.len, rows[i].message);
        text_free(&file);
    }
    text file = tar_file(STORAGES_OK, TENSORS_OK, PICKLE_OK);
    open_good(&c, file.s, file.len);
    expect_floats(&c, "a", VALUES, 2);
    checkpoint_close(&c);
    file.s[512 + 512 + 257] = 'x';
    refused("tar: damaged header", file.s, file.len, "a damaged header at byte 1024");
    memcpy(file.s + 1024 + 257, "ustar", 5);
    memcpy(file.s + 1024 + 124, "77777777777", 11);
    refused("tar: cut off", file.s, file.len, "tar member \"pickle\" is cut off");
    text_free(&file);
    tar_add(&file, "photo.jpg", "abc", 3);
    refused("another tar", file.s, file.len, "without the member \"storages\", so it is not a checkpoint");
    text_free(&file);
}

static void test_stream_and_wts(void **state) {
    checkpoint c;
    (void)state;
    text file = stream_file();
    open_good(&c, file.s, file.len);
    expect_floats(&c, "a", VALUES, 2);
    checkpoint_close(&c);
    text_free(&file);
    file = wts_file();
    open_good(&c, file.s, file.len);
    expect_floats(&c, "a", VALUES, 2);
    assert_int_equal(find(&c, "layer.weight")->ndim, -1);
    checkpoint_close(&c);
    text_free(&file);
}

/* --- every truncation, every flipped bit -------------------------------------------------------------------------- */

static void survive(const char *data, size_t size) {
    checkpoint c;
    text why = TEXT_INIT;
    char *exact = malloc(size + !size);
    if (size) memcpy(exact, data, size);
    if (checkpoint_open_memory(&c, exact, size, &why)) {
        int unchecked;
        for (size_t i = 0; i < c.tensor_count; i++) {
            got g = {{0}, 0};
            const tensor *t = &c.tensors[i];
            if (!t->opaque && t->count * (uint64_t)t->type->bytes <= sizeof g.bytes)
                checkpoint_values(&c, t, take, &g, &why);
        }
        checkpoint_verify(&c, &unchecked, &why);
        checkpoint_close(&c);
    } else {
        assert_true(why.len > 0);
    }
    text_free(&why);
    free(exact);
}

static void test_damage(void **state) {
    static const char views[] =
        DICT(A T0 TEXT("\1", "t") VIEW(STORAGE("0", "K\x10"), "K\0", "K\2K\3\x86", "K\1K\2\x86"));
    text files[] = {archive((bytes)B(views)), archive64(0, "PK\6\6"), stream_file(),
                    tar_file(STORAGES_OK, TENSORS_OK, PICKLE_OK), wts_file(),
                    safetensors("{'a':{'dtype':'F32','shape':[1,2],'data_offsets':[0,8]}}", 8)};
    (void)state;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        text *t = &files[f];
        for (size_t n = 0; n < t->len; n++) survive(t->s, n);
        for (size_t i = 0; i < t->len; i++)
            for (int bit = 0; bit < 9; bit++) {
                char was = t->s[i];
                t->s[i] = (char)(was ^ (bit < 8 ? 1 << bit : 0xff));
                survive(t->s, t->len);
                t->s[i] = was;
            }
        text_free(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pickles), cmocka_unit_test(test_bombs), cmocka_unit_test(test_floods),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_big_endian), cmocka_unit_test(test_zips), cmocka_unit_test(test_zip_others),
        cmocka_unit_test(test_zip_overlap), cmocka_unit_test(test_zip64), cmocka_unit_test(test_files),
        cmocka_unit_test(test_safetensors), cmocka_unit_test(test_tar), cmocka_unit_test(test_stream_and_wts),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
