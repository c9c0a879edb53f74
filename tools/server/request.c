#include "server/request.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ID = 1024, MAX_NESTING = 8, MAX_SHAPE = 4, MAX_FIELD = 64 };

/* The state while a request is read. `field` is being read, for error messages. */
typedef struct reading {
    json j;
    infer_request *r;
    text *why, key, scratch;
    size_t most;
    char field[MAX_FIELD];
    const unsigned char *bytes; /* after the JSON */
    size_t byte_count;
    int binary_output;          /* the default for all outputs */
} reading;

/* The description of an input, before its data are read. */
typedef struct tensor {
    text name, datatype, content_type;
    long long shape[MAX_SHAPE];
    int dims;
    int has_data, has_bytes;
    size_t byte_count; /* parameters.binary_data_size */
    json data;         /* positioned before the value of "data" */
} tensor;

/* --- refusals ----------------------------------------------------------------------------------------------------- */

static void about(reading *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void about(reading *p, const char *format, ...) {
    va_list args;
    if (p->j.error[0]) return; /* an error belongs to the field in which it occurred */
    va_start(args, format);
    vsnprintf(p->field, sizeof p->field, format, args);
    va_end(args);
}

static int fail(reading *p, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Keeps the first error. It also stops the JSON reader, so that every loop ends. Always returns 0. */
static int fail(reading *p, int status, const char *format, ...) {
    char message[256];
    va_list args;
    if (p->why->len) return 0;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    p->r->status = status;
    refuse(p->why, "%s: %s", p->field, message);
    return json_fail(&p->j, "refused");
}

static int no_memory(reading *p) { return fail(p, STATUS_BUSY, "out of memory"); }

/* Returns 1 for the first field of its name, which `bit` identifies. */
static int first_time(reading *p, unsigned *seen, unsigned bit) {
    if (*seen & bit) return fail(p, STATUS_BAD, "is given twice");
    *seen |= bit;
    return 1;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static int read_integer(reading *p, long long lo, long long hi, long long *out) {
    const double exact = 9007199254740992.0; /* 2^53: a double has every integer up to here */
    double value;
    if (!json_number(&p->j, &value)) return 0;
    if (!(value >= -exact && value <= exact) || (double)(long long)value != value || value < (double)lo ||
        value > (double)hi)
        return fail(p, STATUS_BAD, "expected an integer from %lld to %lld", lo, hi);
    *out = (long long)value;
    return 1;
}

static int digit_of(int c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes four digits of base64. Returns 0 if they are malformed; only the last four may have padding. */
static int base64_four(text *out, const char four[4], int last) {
    int pads = last ? (four[3] == '=') + (four[3] == '=' && four[2] == '=') : 0;
    unsigned bits = 0;
    for (int k = 0; k < 4; k++) {
        int digit = k >= 4 - pads ? 0 : digit_of((unsigned char)four[k]);
        if (digit < 0) return 0;
        bits = bits << 6 | (unsigned)digit;
    }
    const char bytes[3] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
    if ((pads == 2 && bytes[1]) || (pads && bytes[2])) return 0;
    text_add(out, bytes, 3 - (size_t)pads);
    return 1;
}

static size_t skip_line_ends(const char *s, size_t len, size_t at) {
    while (at < len && (s[at] == '\r' || s[at] == '\n')) at++;
    return at;
}

/* Decodes base64 with padding (RFC 4648) and appends it to out. Returns 0 if it is malformed. Line ends may be
   anywhere, because many programs write lines of 64 or 76 digits (RFC 2045). Other alphabets and non-zero unused bits
   are not accepted. */
static int base64_add(text *out, const char *s, size_t len) {
    for (size_t at = skip_line_ends(s, len, 0); at < len;) {
        char four[4];
        for (int k = 0; k < 4; k++) {
            if (at == len) return 0;
            four[k] = s[at];
            at = skip_line_ends(s, len, at + 1);
        }
        if (!base64_four(out, four, at == len)) return 0;
    }
    return 1;
}

/* --- parameters --------------------------------------------------------------------------------------------------- */

/* Handles a parameter that this server does not have. Those that would change what the data or the answer mean are
   refused; data come only from the client's own bytes, never from shared memory. The protocol lets servers define
   parameters of their own, and clients of others send them, MLServer's for example the header fields: they are
   ignored. */
static int other_parameter(reading *p, const char *where, const char *name) {
    about(p, "%sparameters", where);
    if (strncmp(name, "shared_memory", 13) == 0)
        return fail(p, STATUS_BAD, "%.64s: shared memory is not supported", name);
    if (strncmp(name, "sequence_", 9) == 0) return fail(p, STATUS_BAD, "%.64s: sequences are not supported", name);
    if (strcmp(name, "classification") == 0)
        return fail(p, STATUS_BAD, "%s: is not supported, because there are no classes", name);
    return json_skip(&p->j);
}

/* The content types of MLServer say how data become objects of Python. Some of them fit what is here. */
static int check_content_type(reading *p, const char *where, const char *given, const char *const fitting[3]) {
    about(p, "%sparameters.content_type", where);
    for (int i = 0; i < 3 && fitting[i]; i++)
        if (strcmp(given, fitting[i]) == 0) return 1;
    return fail(p, STATUS_BAD, "expected \"%s\", not \"%.64s\"", fitting[0], given);
}

static int read_content_type(reading *p, const char *where, text *to, unsigned *seen, unsigned bit) {
    about(p, "%sparameters.content_type", where);
    return first_time(p, seen, bit) && json_string(&p->j, to);
}

/* --- the tensor's data -------------------------------------------------------------------------------------------- */

/* Checks a number of elements against the shape. */
static int count_is(reading *p, size_t found, size_t wanted) {
    return found == wanted || fail(p, STATUS_BAD, "has %zu element%s, but the shape needs %zu", found,
                                    plural(found), wanted);
}

/* Reads images, each preceded by its length in 4 bytes. */
static int pictures_from_bytes(reading *p) {
    infer_request *r = p->r;
    size_t at = 0, n = 0;
    while (at < p->byte_count) {
        if (p->byte_count - at < 4) return fail(p, STATUS_BAD, "ends inside the length of element %zu", n);
        size_t len = le32(p->bytes + at);
        at += 4;
        if (len > p->byte_count - at)
            return fail(p, STATUS_BAD, "element %zu has %zu bytes, but only %zu are left", n, len, p->byte_count - at);
        if (n < r->count) r->pictures[n] = (span){p->bytes + at, len};
        at += len;
        n++;
    }
    return count_is(p, n, r->count);
}

/* Reads strings of base64, or numbers of pixels, in nested or flat arrays. *found: how many there are. */
static int flat_values(reading *p, size_t *found, int depth) {
    infer_request *r = p->r;
    long long value;
    if (depth > MAX_NESTING) return fail(p, STATUS_BAD, "is nested too deeply");
    for (json_array(&p->j); json_item(&p->j);) {
        if (json_peek(&p->j) == '[') {
            flat_values(p, found, depth + 1);
        } else if (r->pictures) {
            size_t from = r->own.len;
            about(p, "inputs[0].data[%zu]", *found);
            if (!json_string(&p->j, &p->scratch)) return 0;
            if (!base64_add(&r->own, p->scratch.s, p->scratch.len))
                return fail(p, STATUS_BAD, "is not base64 with padding");
            if (text_failed(&r->own)) return no_memory(p);
            if (*found < r->count) r->pictures[*found] = (span){NULL, r->own.len - from};
            ++*found;
        } else {
            about(p, "inputs[0].data[%zu]", *found);
            if (!read_integer(p, 0, 255, &value)) return 0;
            text_putc(&r->own, (int)value);
            if (text_failed(&r->own)) return no_memory(p);
            ++*found;
        }
    }
    return !p->j.error[0];
}

/* Reads "data" into r->own. The images' addresses are set at the end, when it no longer grows. */
static int values_from_json(reading *p, const tensor *t, size_t wanted) {
    infer_request *r = p->r;
    const json whole = p->j;
    size_t found = 0, at = 0;
    p->j = t->data;
    if (!flat_values(p, &found, 0)) return 0;
    p->j = whole;
    about(p, "inputs[0].data");
    if (!count_is(p, found, wanted)) return 0;
    for (size_t i = 0; r->pictures && i < r->count; at += r->pictures[i++].len)
        r->pictures[i].at = (const unsigned char *)r->own.s + at;
    if (!r->pictures) r->rgb = (const unsigned char *)r->own.s;
    return 1;
}

/* The tensor's data are either the bytes after the JSON or "data". */
static int check_place(reading *p, const tensor *t) {
    about(p, "inputs[0].data");
    if (t->has_data && t->has_bytes) return fail(p, STATUS_BAD, "cannot be combined with parameters.binary_data_size");
    if (!t->has_data && !t->has_bytes)
        return fail(p, STATUS_BAD, "is missing; give it or parameters.binary_data_size");
    about(p, t->has_bytes ? "inputs[0].parameters.binary_data_size" : "body");
    if ((t->has_bytes ? t->byte_count : 0) != p->byte_count)
        return fail(p, STATUS_BAD, "expected %zu bytes after the JSON, found %zu", t->byte_count, p->byte_count);
    about(p, t->has_bytes ? "inputs[0]: its bytes" : "inputs[0].data");
    return 1;
}

static int take_images(reading *p, const tensor *t) {
    infer_request *r = p->r;
    about(p, "inputs[0].shape");
    if (t->dims != 1 && !(t->dims == 2 && t->shape[1] == 1))
        return fail(p, STATUS_BAD, "of image must be [n] or [n, 1]");
    r->pictures = mem_zeroed(r->count, sizeof *r->pictures);
    if (!r->pictures) return no_memory(p);
    if (!check_place(p, t)) return 0;
    return t->has_bytes ? pictures_from_bytes(p) : values_from_json(p, t, r->count);
}

static int take_pixels(reading *p, const tensor *t) {
    infer_request *r = p->r;
    uint64_t size = 3;
    about(p, "inputs[0].shape");
    if (t->dims != 4 || t->shape[3] != 3) return fail(p, STATUS_BAD, "of pixels must be [n, height, width, 3]");
    for (int i = 1; i < 3; i++)
        if (t->shape[i] < 1 || t->shape[i] > REID_MAX_SIDE)
            return fail(p, STATUS_BAD, "a side must have 1 to %d pixels, not %lld", REID_MAX_SIDE, t->shape[i]);
    if (!checked_mul(size, (uint64_t)t->shape[0], &size) || !checked_mul(size, (uint64_t)t->shape[1], &size) ||
        !checked_mul(size, (uint64_t)t->shape[2], &size) || size > PTRDIFF_MAX)
        return fail(p, STATUS_TOO_LARGE, "the image is too large");
    r->height = (int)t->shape[1], r->width = (int)t->shape[2];
    if (!check_place(p, t)) return 0;
    if (!t->has_bytes) return values_from_json(p, t, (size_t)size);
    r->rgb = p->bytes;
    return count_is(p, p->byte_count, (size_t)size);
}

/* Checks the complete description against the two possible tensors. */
static int take_tensor(reading *p, const tensor *t) {
    static const char *const of_images[3] = {"base64", "str", "np"}, *const of_pixels[3] = {"np"};
    about(p, "inputs[0].name");
    if (!t->name.s) return fail(p, STATUS_BAD, "is missing");
    int images = strcmp(t->name.s, "image") == 0;
    if (!images && strcmp(t->name.s, "pixels") != 0)
        return fail(p, STATUS_BAD, "must be image or pixels, not \"%.64s\"", t->name.s);
    about(p, "inputs[0].datatype");
    if (!t->datatype.s) return fail(p, STATUS_BAD, "is missing");
    if (strcmp(t->datatype.s, images ? "BYTES" : "UINT8") != 0)
        return fail(p, STATUS_BAD, "of %s is %s, not \"%.16s\"", images ? "image" : "pixels",
                    images ? "BYTES" : "UINT8", t->datatype.s);
    if (t->content_type.s &&
        !check_content_type(p, "inputs[0].", t->content_type.s, images ? of_images : of_pixels)) return 0;
    about(p, "inputs[0].shape");
    if (!t->dims) return fail(p, STATUS_BAD, "is missing");
    if (t->shape[0] < 1) return fail(p, STATUS_BAD, "has no images");
    if ((unsigned long long)t->shape[0] > p->most)
        return fail(p, STATUS_TOO_LARGE, "%lld images are over the limit of %zu", t->shape[0], p->most);
    p->r->count = (size_t)t->shape[0];
    return images ? take_images(p, t) : take_pixels(p, t);
}

/* --- the request's parts ------------------------------------------------------------------------------------------ */

static int read_shape(reading *p, tensor *t) {
    for (json_array(&p->j); json_item(&p->j);) {
        if (t->dims == MAX_SHAPE) return fail(p, STATUS_BAD, "more than %d dimensions", MAX_SHAPE);
        if (!read_integer(p, 0, (long long)1 << 53, &t->shape[t->dims])) return 0;
        t->dims++;
    }
    return !p->j.error[0] && (t->dims || fail(p, STATUS_BAD, "has no dimensions"));
}

static int read_input_parameters(reading *p, tensor *t) {
    long long value;
    unsigned seen = 0;
    for (json_object(&p->j); json_key(&p->j, &p->key);) {
        if (strcmp(p->key.s, "content_type") == 0) {
            if (!read_content_type(p, "inputs[0].", &t->content_type, &seen, 2)) return 0;
            continue;
        }
        if (strcmp(p->key.s, "binary_data_size") != 0) {
            if (!other_parameter(p, "inputs[0].", p->key.s)) return 0;
            continue;
        }
        about(p, "inputs[0].parameters.binary_data_size");
        if (!first_time(p, &seen, 1) || !read_integer(p, 0, (long long)1 << 53, &value)) return 0;
        t->has_bytes = 1;
        t->byte_count = (size_t)value;
    }
    return !p->j.error[0];
}

static int read_input_field(reading *p, tensor *t, unsigned *seen) {
    static const char *const names[] = {"name", "datatype", "shape", "parameters", "data"};
    unsigned which = 0;
    while (which < 5 && strcmp(p->key.s, names[which]) != 0) which++;
    if (which == 5) return fail(p, STATUS_BAD, "\"%.64s\" is unknown", p->key.s);
    about(p, "inputs[0].%s", names[which]);
    if (!first_time(p, seen, 1u << which)) return 0;
    switch (which) {
    case 0: return json_string(&p->j, &t->name);
    case 1: return json_string(&p->j, &t->datatype);
    case 2: return read_shape(p, t);
    case 3: return read_input_parameters(p, t);
    default:
        json_peek(&p->j); /* skips white space, so that an error names the right line */
        t->data = p->j;
        t->has_data = 1;
        return json_skip(&p->j);
    }
}

static int read_input(reading *p, tensor *t) {
    unsigned seen = 0;
    about(p, "inputs[0]");
    for (json_object(&p->j); json_key(&p->j, &p->key); about(p, "inputs[0]"))
        if (!read_input_field(p, t, &seen)) break;
    return !p->j.error[0];
}

static int read_inputs(reading *p) {
    tensor t;
    int count = 0;
    memset(&t, 0, sizeof t);
    for (json_array(&p->j); json_item(&p->j); about(p, "inputs"))
        if (count++ ? !fail(p, STATUS_BAD, "expected one tensor, image or pixels") : !read_input(p, &t)) break;
    about(p, "inputs");
    if (!p->j.error[0]) count ? take_tensor(p, &t) : fail(p, STATUS_BAD, "expected one tensor, image or pixels");
    text_free(&t.name);
    text_free(&t.datatype);
    text_free(&t.content_type);
    return !p->j.error[0];
}

static int read_output_parameters(reading *p) {
    static const char *const fitting[3] = {"np"};
    unsigned seen = 0;
    for (json_object(&p->j); json_key(&p->j, &p->key);) {
        if (strcmp(p->key.s, "content_type") == 0) {
            if (!read_content_type(p, "outputs[0].", &p->scratch, &seen, 2) ||
                !check_content_type(p, "outputs[0].", p->scratch.s, fitting)) return 0;
            continue;
        }
        if (strcmp(p->key.s, "binary_data") != 0) {
            if (!other_parameter(p, "outputs[0].", p->key.s)) return 0;
            continue;
        }
        about(p, "outputs[0].parameters.binary_data");
        if (!first_time(p, &seen, 1) || !json_bool(&p->j, &p->r->binary)) return 0;
    }
    return !p->j.error[0];
}

static int read_output_field(reading *p, unsigned *seen) {
    int is_name = strcmp(p->key.s, "name") == 0;
    if (!is_name && strcmp(p->key.s, "parameters") != 0)
        return fail(p, STATUS_BAD, "\"%.64s\" is unknown", p->key.s);
    about(p, "outputs[0].%s", is_name ? "name" : "parameters");
    if (!first_time(p, seen, is_name ? 1 : 2)) return 0;
    if (!is_name) return read_output_parameters(p);
    if (!json_string(&p->j, &p->scratch)) return 0;
    return strcmp(p->scratch.s, "embedding") == 0 ||
           fail(p, STATUS_BAD, "must be embedding, not \"%.64s\"", p->scratch.s);
}

static int read_outputs(reading *p) {
    int count = 0;
    for (json_array(&p->j); json_item(&p->j);) {
        unsigned seen = 0;
        about(p, "outputs");
        if (count++) return fail(p, STATUS_BAD, "there is only one: embedding");
        about(p, "outputs[0]");
        for (json_object(&p->j); json_key(&p->j, &p->key); about(p, "outputs[0]"))
            if (!read_output_field(p, &seen)) return 0;
        about(p, "outputs[0].name");
        if (!p->j.error[0] && !(seen & 1)) return fail(p, STATUS_BAD, "is missing");
    }
    return !p->j.error[0];
}

static int read_parameters(reading *p) {
    static const char *const fitting[3] = {"np", "str", "pd"};
    unsigned seen = 0;
    long long value;
    for (json_object(&p->j); json_key(&p->j, &p->key);) {
        if (strcmp(p->key.s, "priority") == 0) {
            about(p, "parameters.priority");
            if (!first_time(p, &seen, 1) || !read_integer(p, PRIORITY_FIRST, PRIORITY_LAST, &value)) return 0;
            p->r->priority = (int)value;
        } else if (strcmp(p->key.s, "timeout") == 0) {
            about(p, "parameters.timeout");
            if (!first_time(p, &seen, 2) || !read_integer(p, 0, (long long)1 << 53, &p->r->timeout_us)) return 0;
        } else if (strcmp(p->key.s, "binary_data_output") == 0) {
            about(p, "parameters.binary_data_output");
            if (!first_time(p, &seen, 4) || !json_bool(&p->j, &p->binary_output)) return 0;
        } else if (strcmp(p->key.s, "content_type") == 0) {
            if (!read_content_type(p, "", &p->scratch, &seen, 8) ||
                !check_content_type(p, "", p->scratch.s, fitting)) return 0;
        } else if (!other_parameter(p, "", p->key.s)) {
            return 0;
        }
    }
    return !p->j.error[0];
}

static int read_id(reading *p) {
    if (!json_string(&p->j, &p->r->id)) return 0;
    return p->r->id.len <= MAX_ID || fail(p, STATUS_BAD, "is longer than %d bytes", MAX_ID);
}

static int read_request_field(reading *p, unsigned *seen) {
    static const char *const names[] = {"id", "parameters", "inputs", "outputs"};
    static int (*const readers[])(reading *p) = {read_id, read_parameters, read_inputs, read_outputs};
    unsigned which = 0;
    while (which < 4 && strcmp(p->key.s, names[which]) != 0) which++;
    about(p, "request");
    if (which == 4) return fail(p, STATUS_BAD, "\"%.64s\" is unknown", p->key.s);
    about(p, "%s", names[which]);
    return first_time(p, seen, 1u << which) && readers[which](p);
}

/* The request's parameters apply to all outputs, wherever they come; those of an output take precedence. */
static int read_request(reading *p) {
    const int open = -1;
    unsigned seen = 0;
    p->r->binary = open;
    about(p, "request");
    for (json_object(&p->j); json_key(&p->j, &p->key); about(p, "request"))
        if (!read_request_field(p, &seen)) break;
    if (p->r->binary == open) p->r->binary = p->binary_output;
    about(p, "request");
    if (!json_end(&p->j)) return 0;
    about(p, "inputs");
    return p->r->count > 0 || fail(p, STATUS_BAD, "is missing");
}

int infer_read(infer_request *r, const unsigned char *body, size_t len, size_t json_len, size_t most, text *why) {
    reading p;
    memset(&p, 0, sizeof p);
    memset(r, 0, sizeof *r);
    text_clear(why);
    r->priority = PRIORITY_USUAL;
    r->status = STATUS_BAD;
    if (json_len > len) return refuse(why, "Inference-Header-Content-Length: %zu, but the body has %zu bytes", json_len,
                                      len);
    p.r = r, p.why = why, p.most = most;
    p.bytes = body + json_len, p.byte_count = len - json_len;
    json_begin(&p.j, (const char *)body, json_len);
    int good = read_request(&p) && !p.j.error[0];
    if (!good && !why->len) {
        if (strstr(p.j.error, "out of memory")) r->status = STATUS_BUSY;
        refuse(why, "%s: %s", p.field, p.j.error);
    }
    text_free(&p.key);
    text_free(&p.scratch);
    return good;
}

void infer_free(infer_request *r) {
    text_free(&r->id);
    text_free(&r->own);
    free(r->pictures);
    memset(r, 0, sizeof *r);
}

/* --- query strings ------------------------------------------------------------------------------------------------ */

static int hex_of(int c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int percent_decode(const char *s, size_t len, text *out) {
    for (size_t i = 0; i < len; i++) {
        int c = (unsigned char)s[i];
        if (c == '%') {
            if (len - i < 3) return 0;
            int high = hex_of((unsigned char)s[i + 1]), low = hex_of((unsigned char)s[i + 2]);
            if (high < 0 || low < 0) return 0;
            c = high * 16 + low;
            i += 2;
        }
        if (!c) return 0;
        text_putc(out, c);
    }
    return !text_failed(out);
}

/* Reads "x,y,w,h" in whole pixels. */
static int parse_box(const char *value, reid_box *out) {
    long long part[4];
    for (int i = 0; i < 4; i++) {
        char number[16];
        size_t n = strcspn(value, ",");
        int ends = value[n] == 0;
        if (n >= sizeof number || ends != (i == 3)) return 0;
        memcpy(number, value, n);
        number[n] = 0;
        if (!parse_int(number, i < 2 ? -1000000000 : 1, 1000000000, &part[i])) return 0;
        value += n + !ends;
    }
    *out = (reid_box){(int)part[0], (int)part[1], (int)part[2], (int)part[3]};
    return 1;
}

static int no_memory_for(plain_request *r, text *why) {
    r->status = STATUS_BUSY;
    return text_no_memory(why);
}

static int add_box(plain_request *r, const char *value, size_t most, text *why) {
    if (r->count >= most) {
        r->status = STATUS_TOO_LARGE;
        return refuse(why, "box: more than %zu boxes", most);
    }
    if (!GROW(r->boxes, r->count, r->cap)) return no_memory_for(r, why);
    if (!parse_box(value, &r->boxes[r->count]))
        return refuse(why, "box: expected x,y,width,height in whole pixels, width and height at least 1");
    r->count++;
    return 1;
}

typedef struct query_field {
    const char *name, *value;
    unsigned bit;
} query_field;

static int read_number(plain_request *r, const query_field *f, long long lo, long long hi, long long *out, text *why) {
    if (r->seen & f->bit) return refuse(why, "%s: is given twice", f->name);
    r->seen |= f->bit;
    return parse_int(f->value, lo, hi, out) ||
           refuse(why, "%s: expected an integer from %lld to %lld", f->name, lo, hi);
}

int plain_add(plain_request *r, const char *name, const char *text_value, int with_top, size_t most, text *why) {
    query_field f = {name, text_value, 0};
    long long value;
    if (strcmp(f.name, "box") == 0) return add_box(r, f.value, most, why);
    if (strcmp(f.name, "priority") == 0) {
        f.bit = 1;
        if (!read_number(r, &f, PRIORITY_FIRST, PRIORITY_LAST, &value, why)) return 0;
        r->priority = (int)value;
        return 1;
    }
    if (strcmp(f.name, "timeout") == 0) {
        f.bit = 2;
        return read_number(r, &f, 0, (long long)1 << 53, &r->timeout_us, why);
    }
    if (strcmp(f.name, "top") == 0 && with_top) {
        f.bit = 4;
        if (!read_number(r, &f, 1, 10000, &value, why)) return 0;
        r->top = (int)value;
        return 1;
    }
    if (strcmp(f.name, "model") != 0)
        return refuse(why, "\"%.64s\" is unknown in the %s", f.name, r->form ? "form" : "query string");
    if (r->model.s) return refuse(why, "model: is given twice");
    text_puts(&r->model, f.value);
    return !text_failed(&r->model) || no_memory_for(r, why);
}

int plain_read(plain_request *r, const char *query, int with_top, size_t most, text *why) {
    text name = TEXT_INIT, value = TEXT_INIT;
    int good = 1;
    memset(r, 0, sizeof *r);
    text_clear(why);
    r->priority = PRIORITY_USUAL;
    r->status = STATUS_BAD;
    while (good && query && *query) {
        size_t n = strcspn(query, "&"), equals = strcspn(query, "=&");
        text_clear(&name), text_clear(&value);
        text_puts(&name, ""), text_puts(&value, "");
        if (equals == n) good = refuse(why, "\"%.*s\" in the query string has no value", n < 64 ? (int)n : 64, query);
        else if (!percent_decode(query, equals, &name) ||
                 !percent_decode(query + equals + 1, n - equals - 1, &value))
            good = text_failed(&name) || text_failed(&value) ? no_memory_for(r, why)
                                                             : refuse(why, "a malformed %% in the query string");
        else good = plain_add(r, name.s, value.s, with_top, most, why);
        query += n + (query[n] == '&');
    }
    text_free(&name);
    text_free(&value);
    return good;
}

void plain_free(plain_request *r) {
    text_free(&r->model);
    free(r->boxes);
    memset(r, 0, sizeof *r);
}
