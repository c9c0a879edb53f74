/* Demonstrates how to compute a network with plain loops: every operation of the plan, in double precision.

     cc -O2 plain.c -o plain -lm
     ./plain resnet50-multiscale.safetensors 64 32

   This is the shortest definition of the networks. It computes one image of noise by the plan of reid_query_op, each
   operation from the results of these loops, and prints how much the library's numbers differ:

       operation          kind       output       largest value  difference
     0 conv1              conv       32x16x64            3.1147   4.1e-07
     ...
    61 embedding          normalise  1x1x512             0.1386   5.6e-07
   resnet50-multiscale: 62 of 62 operations that the library shows agree

   The difference is relative to the operation's largest value. If it is above 1e-4, they do not agree, and the exit
   status is 1. The library computes some operations together with the next one and has no numbers for them: "-". The
   weight file must use the plan's tensor names, which `reid convert` writes. */
#define REID_IMPLEMENTATION
#include "../reid.h"

typedef struct network {
    FILE *file;
    char *header;      /* of the weight file, JSON */
    long long data;    /* offset of the first tensor */
    reid_ctx *ctx;
    reid_info info;
    int count;         /* operations */
    int next;          /* the first operation that is not printed yet */
    int shown, agree;
    reid_op_info *ops; /* [count] */
    double **out;      /* [count]: (out_h, out_w, out_c) of each operation */
    double *image;     /* (height, width, 3) */
} network;

static void stop(const char *what, const char *which) {
    fprintf(stderr, "plain: %s%s\n", what, which);
    exit(1);
}

static void *reserve(size_t count, size_t size) {
    void *block = calloc(count + 1, size);
    if (!block) stop("out of memory", "");
    return block;
}

/* --- tensors: reid_create has checked the file, so these functions need not --- */

static void open_weights(network *net, const char *path) {
    unsigned char length[8] = {0};
    net->file = fopen(path, "rb");
    if (!net->file || fread(length, 1, 8, net->file) != 8) stop("cannot read ", path);
    for (int i = 7; i >= 0; i--) net->data = net->data << 8 | length[i];
    net->header = (char *)reserve((size_t)net->data, 1);
    if (fread(net->header, 1, (size_t)net->data, net->file) != (size_t)net->data) stop("cannot read ", path);
    net->data += 8;
}

static double number(const unsigned char *bytes, const char *type) {
    uint16_t half = (uint16_t)(bytes[0] | bytes[1] << 8);
    uint32_t high = (uint32_t)half << 16;
    float single;
    double wide;
    memcpy(&wide, bytes, 8);
    if (strcmp(type, "F64") == 0) return wide;
    memcpy(&single, strcmp(type, "BF16") == 0 ? (const void *)&high : (const void *)bytes, 4);
    if (strcmp(type, "F16") == 0) reid_from_halves(&half, &single, 1);
    return single;
}

/* Returns the values of tensor NAME.SUFFIX, to be freed; NULL if the file does not have it. */
static double *tensor(const network *net, const char *name, const char *suffix, size_t *count) {
    char key[128], type[8] = "";
    long long from = 0, to = 0;
    snprintf(key, sizeof key, "\"%s.%s\"", name, suffix);
    const char *entry = strstr(net->header, key);
    if (!entry) return NULL;
    const char *dtype = strstr(entry, "\"dtype\""), *range = strstr(entry, "\"data_offsets\"");
    if (!dtype || sscanf(dtype + 7, " : \"%7[A-Z0-9]", type) != 1) stop("no dtype: ", key);
    if (!range || sscanf(range + 14, " : [ %lld , %lld", &from, &to) != 2) stop("no data_offsets: ", key);
    size_t size = strcmp(type, "F64") == 0 ? 8 : strcmp(type, "F32") == 0 ? 4 : 2;
    *count = (size_t)(to - from) / size;
    unsigned char *bytes = (unsigned char *)reserve((size_t)(to - from) + 8, 1);
    double *values = (double *)reserve(*count, sizeof *values);
    if (fseek(net->file, (long)(net->data + from), SEEK_SET) || fread(bytes, size, *count, net->file) != *count)
        stop("cannot read tensor ", key);
    for (size_t i = 0; i < *count; i++) values[i] = number(bytes + i * size, type);
    free(bytes);
    return values;
}

/* Returns the values of a tensor that must exist and have `count` values. */
static double *needed(const network *net, const char *name, const char *suffix, size_t count) {
    size_t have = 0;
    double *values = tensor(net, name, suffix, &have);
    if (!values || have != count) stop("a tensor is missing or has the wrong size: ", name);
    return values;
}

/* --- the operations: each takes op, its input and its output --- */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double activate(const reid_op_info *op, double x) {
    return strcmp(op->activation, "relu") == 0 ? fmax(x, 0)
         : strcmp(op->activation, "silu") == 0 ? x * sigmoid(x)
         : strcmp(op->activation, "tanh") == 0 ? tanh(x) : x;
}

/* out[pixel][channel] = act(batch norm(out + bias) + residual); an operation may lack any of these parts, and the first
   channels batch norm. */
static void finish(const network *net, const reid_op_info *op, double *out) {
    size_t n = (size_t)op->out_c, from = (size_t)op->norm_from, have = n;
    double *bias = tensor(net, op->name, "bias", &have), *parts[4] = {NULL, NULL, NULL, NULL};
    const char *names[4] = {"weight", "bias", "running_mean", "running_var"};
    const double *residual = op->residual == REID_OP_NONE ? NULL : net->out[op->residual];
    for (int i = 0; i < 4 && *op->norm; i++) parts[i] = needed(net, op->norm, names[i], n - from);
    for (size_t i = 0; i < (size_t)(op->out_h * op->out_w) * n; i++) {
        size_t c = i % n, k = c - from;
        double x = out[i] + (bias ? bias[c] : 0);
        if (*op->norm && c >= from)
            x = (x - parts[2][k]) / sqrt(parts[3][k] + op->epsilon) * parts[0][k] + parts[1][k];
        out[i] = activate(op, x + (residual ? residual[i] : 0));
    }
    for (int i = 0; i < 4; i++) free(parts[i]);
    free(bias);
}

/* A convolution. Depthwise: each output channel reads only its own channel. Linear: the window is the whole input. */
static void convolve(const network *net, const reid_op_info *op, const double *in, double *out) {
    int depthwise = strcmp(op->kind, "depthwise") == 0, kh = op->kernel_h, kw = op->kernel_w, depth = op->in_c;
    const double *factors = op->scale == REID_OP_NONE ? NULL : net->out[op->scale];
    if (depthwise) depth = 1;
    double *w = needed(net, op->name, "weight", (size_t)op->out_c * (size_t)(depth * kh * kw)); /* (out, in, y, x) */
    for (int oy = 0; oy < op->out_h; oy++)
        for (int ox = 0; ox < op->out_w; ox++)
            for (int oc = 0; oc < op->out_c; oc++) {
                double sum = 0;
                for (int ky = 0; ky < kh; ky++)
                    for (int kx = 0; kx < kw; kx++) {
                        int y = oy * op->stride - op->pad_y + ky, x = ox * op->stride - op->pad_x + kx;
                        if (y < 0 || y >= op->in_h || x < 0 || x >= op->in_w) continue; /* zeros around the image */
                        for (int i = 0; i < depth; i++) {
                            int ic = depthwise ? oc : i;
                            double value = in[(y * op->in_w + x) * op->in_c + ic] * (factors ? factors[ic] : 1);
                            sum += value * w[((size_t)(oc * depth + i) * (size_t)kh + (size_t)ky) * (size_t)kw +
                                             (size_t)kx];
                        }
                    }
                out[(oy * op->out_w + ox) * op->out_c + oc] = sum;
            }
    free(w);
    finish(net, op, out);
}

static void max_pool(const reid_op_info *op, const double *in, double *out) {
    for (int i = 0; i < op->out_h * op->out_w * op->out_c; i++) {
        int c = i % op->out_c, ox = i / op->out_c % op->out_w, oy = i / op->out_c / op->out_w;
        out[i] = -INFINITY;
        for (int k = 0; k < op->kernel_h * op->kernel_w; k++) {
            int y = oy * op->stride - op->pad_y + k / op->kernel_w, x = ox * op->stride - op->pad_x + k % op->kernel_w;
            if (y < 0 || y >= op->in_h || x < 0 || x >= op->in_w) continue;
            out[i] = fmax(out[i], in[(y * op->in_w + x) * op->in_c + c]);
        }
    }
}

/* An adaptive average, or with a tensor "p" the generalised mean with that exponent. Bins may overlap. */
static void pool(const network *net, const reid_op_info *op, const double *in, double *out) {
    size_t have = 0;
    double *p = tensor(net, op->name, "p", &have);
    for (int i = 0; i < op->out_h * op->out_w * op->out_c; i++) {
        int c = i % op->out_c, ox = i / op->out_c % op->out_w, oy = i / op->out_c / op->out_w, count = 0;
        for (int y = oy * op->in_h / op->out_h; y * op->out_h < (oy + 1) * op->in_h; y++)
            for (int x = ox * op->in_w / op->out_w; x * op->out_w < (ox + 1) * op->in_w; x++, count++) {
                double value = in[(y * op->in_w + x) * op->in_c + c];
                out[i] += p ? pow(fmax(value, 1e-6), *p) : value;
            }
        out[i] /= count;
        if (p) out[i] = pow(out[i], 1 / *p);
    }
    free(p);
    finish(net, op, out);
}

/* Squeeze and excite: the mean of every channel, then a layer with SiLU, then a layer with a sigmoid. */
static void squeeze(const network *net, const reid_op_info *op, const double *in, double *out) {
    size_t n = (size_t)op->out_c, hidden = 0, pixels = (size_t)op->in_h * (size_t)op->in_w;
    double *bias1 = tensor(net, op->name, "fc1.bias", &hidden), *mean = (double *)reserve(n, sizeof *mean);
    double *weight1 = needed(net, op->name, "fc1.weight", hidden * n);
    double *weight2 = needed(net, op->name, "fc2.weight", n * hidden), *bias2 = needed(net, op->name, "fc2.bias", n);
    for (size_t i = 0; i < pixels * n; i++) mean[i % n] += in[i] / (double)pixels;
    memcpy(out, bias2, n * sizeof *out);
    for (size_t h = 0; h < hidden; h++) {
        double x = bias1[h];
        for (size_t c = 0; c < n; c++) x += weight1[h * n + c] * mean[c];
        for (size_t c = 0; c < n; c++) out[c] += weight2[c * hidden + h] * x * sigmoid(x);
    }
    for (size_t c = 0; c < n; c++) out[c] = sigmoid(out[c]);
    free(bias1), free(mean), free(weight1), free(weight2), free(bias2);
}

/* Instance norm of the first channels: each by its mean and variance over the image. Then activation and residual. */
static void instance(const network *net, const reid_op_info *op, const double *in, double *out) {
    size_t n = (size_t)op->out_c, pixels = (size_t)op->out_h * (size_t)op->out_w, normed = (size_t)op->normed;
    const double *residual = op->residual == REID_OP_NONE ? NULL : net->out[op->residual];
    double *weight = normed ? needed(net, op->name, "weight", normed) : NULL;
    double *bias = normed ? needed(net, op->name, "bias", normed) : NULL;
    for (size_t c = 0; c < n; c++) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < pixels; i++) mean += in[i * n + c] / (double)pixels;
        for (size_t i = 0; i < pixels; i++) variance += pow(in[i * n + c] - mean, 2) / (double)pixels;
        for (size_t i = c; i < pixels * n; i += n) {
            double x = c < normed ? (in[i] - mean) / sqrt(variance + op->epsilon) * weight[c] + bias[c] : in[i];
            out[i] = activate(op, x) + (residual ? residual[i] : 0);
        }
    }
    free(weight), free(bias);
}

/* How alike each pixel's query is to every pixel's key decides how much it takes of that pixel's value. */
static void nonlocal(const network *net, const reid_op_info *op, const double *query, double *out) {
    const double *key = net->out[op->key], *value = net->out[op->value];
    int n = op->out_c, pixels = op->out_h * op->out_w;
    for (int i = 0; i < pixels; i++)
        for (int k = 0; k < pixels; k++) {
            double alike = 0;
            for (int c = 0; c < n; c++) alike += query[i * n + c] * key[k * n + c];
            for (int c = 0; c < n; c++) out[i * n + c] += alike / pixels * value[k * n + c];
        }
}

/* Collects the vector, which may come from several linear layers, and scales it to unit length. */
static void normalise(const network *net, const reid_op_info *op, double *out) {
    double length = 0;
    for (int i = 0; i < net->count; i++)
        if (i == op->input || strcmp(net->ops[i].kind, "linear") == 0)
            memcpy(out + net->ops[i].channel, net->out[i], (size_t)net->ops[i].out_c * sizeof *out);
    for (int c = 0; c < op->out_c; c++) length += out[c] * out[c];
    for (int c = 0; c < op->out_c; c++) out[c] /= sqrt(length);
}

static void compute(network *net, int i) {
    const reid_op_info *op = &net->ops[i];
    const double *in = op->input == REID_OP_NONE ? net->image : net->out[op->input];
    double *out = (double *)reserve((size_t)op->out_h * (size_t)op->out_w * (size_t)op->out_c, sizeof *out);
    net->out[i] = out;
    if (strcmp(op->kind, "maxpool") == 0) max_pool(op, in, out);
    else if (strcmp(op->kind, "pool") == 0) pool(net, op, in, out);
    else if (strcmp(op->kind, "squeeze") == 0) squeeze(net, op, in, out);
    else if (strcmp(op->kind, "instance") == 0) instance(net, op, in, out);
    else if (strcmp(op->kind, "nonlocal") == 0) nonlocal(net, op, in, out);
    else if (strcmp(op->kind, "normalise") == 0) normalise(net, op, out);
    else convolve(net, op, in, out);
}

/* --- comparison with the library --- */

static void print_op(network *net, int i, const float *values) {
    const reid_op_info *op = &net->ops[i];
    char shape[40], difference[16] = "-";
    double most = 0, apart = 0;
    snprintf(shape, sizeof shape, "%dx%dx%d", op->out_h, op->out_w, op->out_c);
    for (int k = 0; k < op->out_h * op->out_w * op->out_c; k++) {
        most = fmax(most, fabs(net->out[i][k]));
        if (values) apart = fmax(apart, fabs(values[k] - net->out[i][k]));
    }
    if (values) snprintf(difference, sizeof difference, "%.1e", most > 0 ? apart / most : apart);
    if (values) net->shown++, net->agree += apart <= 1e-4 * most;
    printf("%3d %-28s %-10s %-12s %13.4f %11s\n", i, op->name, op->kind, shape, most, difference);
    net->next = i + 1;
}

/* A reid_observe_fn: operations come in order, except for those that the library does not show. */
static void observe(const reid_op_info *op, const float *values, void *user) {
    network *net = (network *)user;
    while (strcmp(net->ops[net->next].name, op->name) != 0 || strcmp(net->ops[net->next].kind, op->kind) != 0)
        print_op(net, net->next, NULL);
    print_op(net, net->next, values);
}

/* Fills the image with noise. */
static void make_noise(uint8_t *pixels, size_t count) {
    uint32_t seed = 1;
    for (size_t i = 0; i < count; i++) pixels[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
}

static void run(network *net) {
    const reid_info *info = &net->info;
    size_t values = (size_t)info->height * (size_t)info->width * 3;
    uint8_t *noise = (uint8_t *)reserve(values, 1), *pixels = (uint8_t *)reserve(values, 1);
    float *embedding = (float *)reserve((size_t)info->dim, sizeof *embedding);
    reid_image picture = {noise, info->width, info->height, 0, REID_RGB8, NULL};
    reid_error error;
    make_noise(noise, values);
    if (reid_preprocess(net->ctx, &picture, pixels, &error) != REID_OK) stop(error.text, "");
    net->image = (double *)reserve(values, sizeof *net->image);
    for (size_t i = 0; i < values; i++) {
        size_t c = i % 3, from = info->bgr ? i - c + (2 - c) : i;
        net->image[i] = (pixels[from] * info->scale - info->mean[c]) / info->std[c];
    }
    for (int i = 0; i < net->count; i++) compute(net, i);

    printf("    %-28s %-10s %-12s %13s %11s\n", "operation", "kind", "output", "largest value", "difference");
    if (reid_observe(net->ctx, &picture, observe, net, &error) != REID_OK) stop(error.text, "");
    if (reid_embed_ex(net->ctx, &picture, 1, embedding, &error) != REID_OK) stop(error.text, "");
    print_op(net, net->count - 1, embedding);
    printf("%s: %d of %d operations that the library shows agree\n", info->network, net->agree, net->shown);
    free(noise), free(pixels), free(embedding);
}

static int parse_size(const char *text, int *size) {
    char rest;
    return sscanf(text, "%d%c", size, &rest) == 1;
}

int main(int argc, char **argv) {
    network net;
    reid_error error;
    reid_desc desc = REID_INIT;
    memset(&net, 0, sizeof net);
    if (argc != 2 && (argc != 4 || !parse_size(argv[2], &desc.height) || !parse_size(argv[3], &desc.width))) {
        fprintf(stderr, "usage: %s WEIGHTS [HEIGHT WIDTH]\n", argv[0]);
        return 2;
    }
    desc.weights = argv[1];
    desc.device = REID_DEVICE_CPU;
    desc.precision = REID_FP32;
    desc.batch = 1;
    desc.error = &error;
    if (reid_create(&desc, &net.ctx) != REID_OK) stop(error.text, "");
    reid_query_desc(net.ctx, &net.info);
    net.count = reid_op_count(net.ctx);
    net.ops = (reid_op_info *)reserve((size_t)net.count, sizeof *net.ops);
    net.out = (double **)reserve((size_t)net.count, sizeof *net.out);
    for (int i = 0; i < net.count; i++) reid_query_op(net.ctx, i, &net.ops[i]);
    open_weights(&net, argv[1]);
    run(&net);

    for (int i = 0; i < net.count; i++) free(net.out[i]);
    free(net.ops), free(net.out), free(net.image), free(net.header);
    fclose(net.file);
    reid_destroy(net.ctx);
    return net.agree != net.shown;
}
