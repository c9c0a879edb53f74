#include "weights/onnx_file.h"

#include "base/memory.h"
#include "weights/onnx_graph.h"
#include "weights/protobuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers of onnx.proto. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_VERSION = 3, MODEL_GRAPH = 7 };
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_SPARSE = 15 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_F = 2, ATTRIBUTE_I = 3, ATTRIBUTE_S = 4, ATTRIBUTE_T = 5, ATTRIBUTE_INTS = 8 };
enum {
    TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_SEGMENT = 3, TENSOR_FLOATS = 4, TENSOR_INT32S = 5, TENSOR_INT64S = 7,
    TENSOR_NAME = 8, TENSOR_RAW = 9, TENSOR_DOUBLES = 10, TENSOR_EXTERNAL = 13, TENSOR_LOCATION = 14
};

enum { MAX_NODES = 1 << 16, MAX_ENDS = 1 << 12, MAX_FIELDS = 1 << 22, INT64 = 7 };
enum { ONE = 0x3f800000 }; /* the bits of 1.0f */

/* Types of values that networks compute with. Of integers, which are shapes and axes, only short lists are kept: they
   may be the widths of a Pad. */
static const struct { uint64_t number; const char *name; } TYPES[] = {
    {1, "F32"}, {10, "F16"}, {11, "F64"}, {16, "BF16"}};

int is_onnx(const unsigned char *p, size_t size) {
    static const unsigned char next[] = {0x12, 0x1a, 0x22, 0x32, 0x3a, 0x42}; /* fields 2, 3, 4, 6, 7 and 8, all of
                                                                                 bytes */
    return size > 3 && p[0] == 8 && p[1] >= 1 && p[1] < 64 && memchr(next, p[2], sizeof next) != NULL;
}

/* --- tensors ------------------------------------------------------------------------------------------------------ */

typedef struct values {
    uint64_t type, location, external;
    const char *elsewhere; /* values are in a field that is not read; its name */
    proto_field bytes;     /* the values; number 0: none */
    proto_field int64s;    /* integers as packed numbers; number 0: none */
} values;

static int add_dimension(tensor *t, uint64_t size, text *why) {
    if (t->ndim == MAX_DIMS) return refuse(why, "a tensor has more than %d dimensions", MAX_DIMS);
    if (size > INT64_MAX) return refuse(why, "a tensor has a negative dimension");
    t->shape[t->ndim++] = size;
    return 1;
}

static int read_dimensions(const proto *p, const proto_field *f, tensor *t) {
    uint64_t size;
    if (f->wire == PROTO_VARINT) return add_dimension(t, f->value, p->why);
    if (f->wire != PROTO_BYTES) return refuse(p->why, "a tensor's dimensions are not numbers");
    proto packed = proto_inside(p, f);
    while (proto_packed(&packed, &size))
        if (!add_dimension(t, size, p->why)) return 0;
    return proto_at_end(&packed);
}

static int tensor_field(const proto *p, const proto_field *f, tensor *t, values *v) {
    switch (f->number) {
    case TENSOR_DIMS: return read_dimensions(p, f, t);
    case TENSOR_TYPE: v->type = f->value; return 1;
    case TENSOR_LOCATION: v->location = f->value; return 1;
    case TENSOR_EXTERNAL: v->external = 1; return 1;
    case TENSOR_SEGMENT: v->elsewhere = "segments"; return 1;
    case TENSOR_INT32S: v->elsewhere = "int32_data"; return 1;
    case TENSOR_INT64S:
        if (v->int64s.number || f->wire != PROTO_BYTES) v->elsewhere = "more than one piece";
        v->int64s = *f;
        return 1;
    case TENSOR_NAME:
        if (t->name) return refuse(p->why, "a tensor has two names; the first is \"%.200s\"", t->name);
        t->name = proto_text(p, f, MAX_NAME, "the name of a tensor");
        return t->name != NULL;
    case TENSOR_RAW:
    case TENSOR_FLOATS:
    case TENSOR_DOUBLES:
        if (v->bytes.number || f->wire != PROTO_BYTES) v->elsewhere = "more than one piece";
        v->bytes = *f;
        return 1;
    default: return 1;
    }
}

/* Packed float_data and double_data have the same bytes as raw_data, but only for their own type. */
static int check_values(const tensor *t, const values *v, text *why) {
    uint64_t bytes;
    if (v->location || v->external)
        return refuse(why, "tensor \"%.200s\" has its values in another file (external data); save the model as one "
                      "file: onnx.save_model(onnx.load(FILE), \"one.onnx\")", t->name);
    if ((v->bytes.number == TENSOR_FLOATS && v->type != 1) || (v->bytes.number == TENSOR_DOUBLES && v->type != 11))
        return refuse(why, "tensor \"%.200s\": its values are in a field of another type", t->name);
    if (v->elsewhere)
        return refuse(why, "tensor \"%.200s\": its values are in %s; expected raw_data", t->name, v->elsewhere);
    if (!checked_mul(t->count, (uint64_t)t->type->bytes, &bytes))
        return refuse(why, "tensor \"%.200s\": its size overflows", t->name);
    if (v->bytes.bytes != bytes)
        return refuse(why, "tensor \"%.200s\" has %llu bytes of values, but its shape needs %llu", t->name,
                      (unsigned long long)v->bytes.bytes, (unsigned long long)bytes);
    return 1;
}

static int keep_tensor(checkpoint *c, tensor *t, const values *v, text *why) {
    if (!set_contiguous(t)) return refuse(why, "tensor \"%.200s\": its size overflows", t->name);
    if (!check_values(t, v, why)) return 0;
    if (!GROW(c->storages, c->storage_count, c->storage_cap)) return text_no_memory(why);
    t->storage = c->storage_count++;
    storage *s = &c->storages[t->storage];
    memset(s, 0, sizeof *s);
    s->at = v->bytes.at;
    s->bytes = v->bytes.bytes;
    return add_tensor(c, t, why);
}

static int add_ints(onnx_graph *g, const char *name, const uint64_t *numbers, size_t count, text *why) {
    if (!GROW(g->ints, g->int_count, g->int_cap)) return text_no_memory(why);
    onnx_ints *list = &g->ints[g->int_count];
    list->name = mem_copy(name, strlen(name));
    if (!list->name) return text_no_memory(why);
    memcpy(list->values, numbers, count * sizeof *numbers);
    list->count = count;
    g->int_count++;
    return 1;
}

/* Keeps a short list of integers. All of its values must be in int64_data or in raw_data. */
static int keep_ints(checkpoint *c, const proto *p, const tensor *t, const values *v) {
    uint64_t list[ONNX_INTS] = {0}, value;
    unsigned char bytes[ONNX_INTS * 8];
    size_t count = 0, want = (size_t)t->shape[0];
    if (v->elsewhere || v->external || v->location)
        return refuse(p->why, "tensor \"%.200s\": integers in %s are not supported", t->name,
                      v->elsewhere ? v->elsewhere : "another file");
    if (v->int64s.number) {
        proto packed = proto_inside(p, &v->int64s);
        while (proto_packed(&packed, &value)) {
            if (count < ONNX_INTS) list[count] = value;
            count++;
        }
        if (!proto_at_end(&packed)) return 0;
    } else if (v->bytes.number == TENSOR_RAW && v->bytes.bytes <= sizeof bytes && v->bytes.bytes % 8 == 0) {
        count = (size_t)v->bytes.bytes / 8;
        if (!source_read(p->from, v->bytes.at, bytes, 8 * count, p->why)) return 0;
        for (size_t i = 0; i < count; i++) list[i] = le64(bytes + 8 * i);
    }
    if (count == want) return add_ints(c->graph, t->name, list, count, p->why);
    return refuse(p->why, "tensor \"%.200s\" has %zu integer%s, but its shape needs %zu", t->name, count,
                  plural(count), want);
}

/* Reads a TensorProto. name: for a constant, the output of its node; NULL: the tensor's own name is used. */
static int read_tensor(checkpoint *c, proto p, const char *name) {
    proto_field f;
    tensor t;
    values v;
    memset(&t, 0, sizeof t);
    memset(&v, 0, sizeof v);
    int good = 1;
    while (good && proto_next(&p, &f)) good = tensor_field(&p, &f, &t, &v);
    good = good && proto_at_end(&p);
    if (good && name) {
        free(t.name);
        t.name = mem_copy(name, strlen(name));
        good = t.name || text_no_memory(p.why);
    }
    if (good && (!t.name || !*t.name)) good = refuse(p.why, "a tensor has no name");
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES && good; i++)
        if (TYPES[i].number == v.type) t.type = dtype_named(TYPES[i].name);
    if (good && t.type) good = keep_tensor(c, &t, &v, p.why);
    else if (good && v.type == INT64 && t.ndim == 1 && t.shape[0] <= ONNX_INTS) good = keep_ints(c, &p, &t, &v);
    free(t.name); /* add_tensor has zeroed what it took over */
    return good;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

typedef struct attribute {
    char *name, *words;
    uint64_t integer, ints[ONNX_INTS];
    size_t int_count;
    uint32_t real; /* the bits of a float */
    proto_field tensor;
} attribute;

static int attribute_ints(const proto *p, const proto_field *f, attribute *a) {
    uint64_t value;
    if (f->wire == PROTO_VARINT) {
        if (a->int_count < ONNX_INTS) a->ints[a->int_count] = f->value;
        a->int_count++;
        return 1;
    }
    if (f->wire != PROTO_BYTES) return refuse(p->why, "an attribute's integers have the wrong protobuf type");
    proto packed = proto_inside(p, f);
    while (proto_packed(&packed, &value)) {
        if (a->int_count < ONNX_INTS) a->ints[a->int_count] = value;
        a->int_count++;
    }
    return proto_at_end(&packed);
}

static int attribute_field(const proto *p, const proto_field *f, attribute *a) {
    char **to = f->number == ATTRIBUTE_NAME ? &a->name : &a->words;
    if (f->number == ATTRIBUTE_S && f->bytes > MAX_NAME) return 1; /* too long for any attribute that is used here */
    switch (f->number) {
    case ATTRIBUTE_S:
    case ATTRIBUTE_NAME:
        free(*to);
        *to = proto_text(p, f, MAX_NAME, "an attribute");
        return *to != NULL;
    case ATTRIBUTE_F: a->real = (uint32_t)f->value; return 1;
    case ATTRIBUTE_I: a->integer = f->value; return 1;
    case ATTRIBUTE_INTS: return attribute_ints(p, f, a);
    case ATTRIBUTE_T:
        if (f->wire != PROTO_BYTES) return refuse(p->why, "an attribute's tensor is not a protobuf message");
        a->tensor = *f;
        return 1;
    default: return 1;
    }
}

static int take_ints(const attribute *a, uint64_t *to, size_t count, const onnx_node *n, text *why) {
    if (a->int_count != count)
        return refuse(why, "node \"%.200s\" (%.60s): %s has %zu number%s; expected %zu", n->name, n->op, a->name,
                      a->int_count, plural(a->int_count), count);
    memcpy(to, a->ints, count * sizeof *to);
    return 1;
}

static int take_pad(const attribute *a, onnx_node *n, text *why) {
    static const char *const words[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    for (int i = 0; i < 4; i++)
        if (a->words && strcmp(a->words, words[i]) == 0) {
            n->pad = (onnx_pad)i;
            return 1;
        }
    return refuse(why, "node \"%.200s\" (%.60s): unknown auto_pad \"%.60s\"", n->name, n->op, a->words ? a->words : "");
}

/* Strides, pads and kernels must be those of images: two numbers each. Nodes with others belong to no supported
   network. */
static int take_attribute(const attribute *a, onnx_node *n, text *why) {
    int window = strcmp(n->op, "Conv") == 0 || strcmp(n->op, "MaxPool") == 0;
    if (!a->name) return refuse(why, "node \"%.200s\" (%.60s): an attribute has no name", n->name, n->op);
    if (strcmp(a->name, "epsilon") == 0) memcpy(&n->epsilon, &a->real, sizeof n->epsilon);
    if (strcmp(a->name, "group") == 0) n->group = a->integer;
    if (strcmp(a->name, "ceil_mode") == 0) n->ceil_mode = a->integer;
    if (strcmp(a->name, "transB") == 0) n->transposed = a->integer;
    if (strcmp(a->name, "transA") == 0) n->scaled |= a->integer != 0;
    if (strcmp(a->name, "alpha") == 0 || strcmp(a->name, "beta") == 0) n->scaled |= a->real != ONE;
    if (strcmp(a->name, "axis") == 0) n->axis = a->integer;
    if ((strcmp(a->name, "perm") == 0 || strcmp(a->name, "split") == 0) && a->int_count <= ONNX_INTS) {
        memcpy(n->list, a->ints, sizeof n->list);
        n->list_count = a->int_count;
    }
    if (strcmp(n->op, "Pad") == 0) {
        if (strcmp(a->name, "mode") == 0) n->reflects = !a->words || strcmp(a->words, "constant") != 0;
        if (strcmp(a->name, "value") == 0) memcpy(&n->fill, &a->real, sizeof n->fill);
        if (strcmp(a->name, "pads") != 0) return 1;
        n->border_count = ONNX_INTS;
        return take_ints(a, n->border, ONNX_INTS, n, why);
    }
    if (!window) return 1;
    if (strcmp(a->name, "strides") == 0) return take_ints(a, n->strides, 2, n, why);
    if (strcmp(a->name, "dilations") == 0) return take_ints(a, n->dilations, 2, n, why);
    if (strcmp(a->name, "kernel_shape") == 0) return take_ints(a, n->kernel, 2, n, why);
    if (strcmp(a->name, "pads") == 0) return take_ints(a, n->pads, 4, n, why);
    return strcmp(a->name, "auto_pad") != 0 || take_pad(a, n, why);
}

/* Reads an attribute of a node whose other fields were read before. */
static int read_attribute(checkpoint *c, proto p, onnx_node *n) {
    proto_field f;
    attribute a;
    memset(&a, 0, sizeof a);
    int good = 1;
    while (good && proto_next(&p, &f)) good = attribute_field(&p, &f, &a);
    good = good && proto_at_end(&p) && take_attribute(&a, n, p.why);
    if (good && a.tensor.number && strcmp(n->op, "Constant") == 0 && n->output_count == 1)
        good = read_tensor(c, proto_inside(&p, &a.tensor), n->outputs[0]);
    if (good && strcmp(a.name, "value_ints") == 0 && a.int_count <= ONNX_INTS && strcmp(n->op, "Constant") == 0 &&
        n->output_count == 1)
        good = add_ints(c->graph, n->outputs[0], a.ints, a.int_count, p.why);
    free(a.name);
    free(a.words);
    return good;
}

static int add_end(const proto *p, const proto_field *f, char ***list, size_t *count, size_t *cap) {
    if (*count == MAX_ENDS) return refuse(p->why, "a node has more than %d inputs or outputs", MAX_ENDS);
    if (!GROW(*list, *count, *cap)) return text_no_memory(p->why);
    char *name = proto_text(p, f, MAX_NAME, "the name of a value");
    if (name) (*list)[(*count)++] = name;
    return name != NULL;
}

static int node_field(const proto *p, const proto_field *f, onnx_node *n, char **domain) {
    char **to = f->number == NODE_NAME ? &n->name : f->number == NODE_OP ? &n->op : domain;
    switch (f->number) {
    case NODE_INPUT: return add_end(p, f, &n->inputs, &n->input_count, &n->input_cap);
    case NODE_OUTPUT: return add_end(p, f, &n->outputs, &n->output_count, &n->output_cap);
    case NODE_NAME:
    case NODE_OP:
    case NODE_DOMAIN:
        free(*to);
        *to = proto_text(p, f, MAX_NAME, "the name of a node");
        return *to != NULL;
    default: return 1;
    }
}

/* Completes the node's names. An operation of another domain than ONNX's gets its domain as a prefix. */
static int finish_name(onnx_node *n, const char *domain, text *why) {
    text op = TEXT_INIT;
    if (domain && *domain && strcmp(domain, "ai.onnx") != 0) text_printf(&op, "%s.", domain);
    text_puts(&op, n->op ? n->op : "");
    free(n->op);
    n->op = op.s;
    const char *name = n->output_count ? n->outputs[0] : "";
    if (!n->name || !*n->name) { /* names are optional; the first output serves instead */
        free(n->name);
        n->name = mem_copy(name, strlen(name));
    }
    if (text_failed(&op)) n->op = NULL;
    return (n->op && n->name) || text_no_memory(why);
}

/* Reads a node. Attributes are read last, wherever they are, because their meaning depends on the operation. */
static int read_node(checkpoint *c, proto p) {
    onnx_graph *g = c->graph;
    proto again = p;
    proto_field f;
    char *domain = NULL;
    if (g->count == MAX_NODES) return refuse(p.why, "the graph has more than %d nodes", MAX_NODES);
    if (!GROW(g->nodes, g->count, g->cap)) return text_no_memory(p.why);
    onnx_node *n = &g->nodes[g->count++];
    memset(n, 0, sizeof *n);
    n->strides[0] = n->strides[1] = n->dilations[0] = n->dilations[1] = n->group = 1;
    n->epsilon = 1e-5f;
    int good = 1;
    while (good && proto_next(&p, &f)) good = node_field(&p, &f, n, &domain);
    good = good && proto_at_end(&p) && finish_name(n, domain, p.why);
    free(domain);
    while (good && proto_next(&again, &f))
        if (f.number == NODE_ATTRIBUTE)
            good = f.wire == PROTO_BYTES
                       ? read_attribute(c, proto_inside(&again, &f), n)
                       : refuse(p.why, "node \"%.200s\": an attribute is not a protobuf message", n->name);
    return good && proto_at_end(&again);
}

/* --- graph and model ---------------------------------------------------------------------------------------------- */

static int read_graph(checkpoint *c, proto p) {
    proto_field f;
    int good = 1;
    while (good && proto_next(&p, &f)) {
        if (f.number != GRAPH_NODE && f.number != GRAPH_INITIALIZER && f.number != GRAPH_SPARSE) continue;
        if (f.wire != PROTO_BYTES) return refuse(p.why, "a node or tensor is not a protobuf message");
        if (f.number == GRAPH_SPARSE) return refuse(p.why, "the graph has sparse tensors, which are not supported");
        good = f.number == GRAPH_NODE ? read_node(c, proto_inside(&p, &f)) : read_tensor(c, proto_inside(&p, &f), NULL);
    }
    return good && proto_at_end(&p);
}

/* Names the format, such as "ONNX 9, pytorch 2.4.1". The text goes into metadata and to a terminal, so characters
   other than printable ASCII are replaced. */
static int name_format(checkpoint *c, const proto *p, uint64_t version, const proto_field *producer) {
    size_t at = (size_t)snprintf(c->format, sizeof c->format, "ONNX %llu", (unsigned long long)version);
    for (int i = 0; i < 2; i++) {
        if (!producer[i].number) continue;
        char *s = proto_text(p, &producer[i], MAX_NAME, "the producer's name");
        if (!s) return 0;
        for (char *from = s; *from; from++)
            if (*from <= ' ' || *from > 126) *from = '?';
        if (*s && at + 24 < sizeof c->format)
            at += (size_t)snprintf(c->format + at, sizeof c->format - at, "%s %.20s", i ? "" : ",", s);
        free(s);
    }
    return 1;
}

int read_onnx(checkpoint *c, text *why) {
    uint64_t budget = MAX_FIELDS, version = 0;
    proto p = {&c->source, 0, c->source.size, &budget, why};
    proto_field f, graph, producer[2];
    memset(&graph, 0, sizeof graph);
    memset(producer, 0, sizeof producer);
    c->graph = mem_zeroed(1, sizeof *c->graph);
    if (!c->graph || add_group(c, "") < 0) return text_no_memory(why);
    while (proto_next(&p, &f)) {
        if (f.number == MODEL_IR) version = f.value;
        if (f.number == MODEL_PRODUCER || f.number == MODEL_VERSION) producer[f.number - MODEL_PRODUCER] = f;
        if (f.number != MODEL_GRAPH) continue;
        if (graph.number || f.wire != PROTO_BYTES) return refuse(why, "an ONNX file must have exactly one graph");
        graph = f;
    }
    if (!proto_at_end(&p)) return 0;
    if (!graph.number) return refuse(why, "the ONNX file has no graph");
    return name_format(c, &p, version, producer) && read_graph(c, proto_inside(&p, &graph));
}
