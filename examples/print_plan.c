/* Demonstrates how to read a network's plan: its operations in order, with their shapes and costs.

     cc -O2 print_plan.c -o print_plan -lm
     ./print_plan efficientnet_b0.safetensors 224 224

   Prints one line for each operation. "+" adds an earlier activation (a residual), "x" scales the input by
   squeeze-and-excitation:

       operation          kind       input       output      kernel  then      MMAC   weights
     0 features.0.0       conv       224x224x3   112x112x32  3x3/2   silu     10.84       928
     ...
     efficientnet_b0, fingerprint 91c4...: 67 operations, 384.5 MMAC, 4007548 weights */
#define REID_IMPLEMENTATION
#include "../reid.h"

static const char *shape(char text[40], int h, int w, int c) {
    snprintf(text, 40, "%dx%dx%d", h, w, c);
    return text;
}

static void print_op(const reid_op_info *op, int index) {
    char in[40], out[40], kernel[40], then[40];
    int slides = op->kernel_h * op->kernel_w > 1 || strcmp(op->kind, "conv") == 0; /* else there is no kernel size */
    snprintf(kernel, sizeof kernel, "%dx%d/%d", op->kernel_h, op->kernel_w, op->stride);
    snprintf(then, sizeof then, "%s%s%s", op->scale != REID_OP_NONE ? "x " : "",
             op->residual != REID_OP_NONE ? "+ " : "", op->activation);
    printf("%3d %-28s %-10s %-14s %-14s %-8s %-8s %8.2f %9lld\n", index, op->name, op->kind,
           shape(in, op->in_h, op->in_w, op->in_c), shape(out, op->out_h, op->out_w, op->out_c),
           slides ? kernel : "", then, 1e-6 * (double)op->macs, (long long)op->parameters);
}

static void print_plan(const reid_ctx *ctx) {
    reid_info info;
    reid_op_info op;
    printf("    %-28s %-10s %-14s %-14s %-8s %-8s %8s %9s\n", "operation", "kind", "input", "output", "kernel", "then",
           "MMAC", "weights");
    for (int i = 0; i < reid_op_count(ctx); i++) {
        reid_query_op(ctx, i, &op);
        print_op(&op, i);
    }
    reid_query_desc(ctx, &info);
    printf("%s, fingerprint %s: %d operations, %.1f MMAC, %lld weights\n", info.network, info.fingerprint,
           reid_op_count(ctx), 1e-6 * (double)info.macs, (long long)info.parameters);
}

static int parse_size(const char *text, int *size) {
    char rest;
    return sscanf(text, "%d%c", size, &rest) == 1;
}

int main(int argc, char **argv) {
    int height = 0, width = 0; /* 0: the preset's own size */
    if (argc != 2 && (argc != 4 || !parse_size(argv[2], &height) || !parse_size(argv[3], &width))) {
        fprintf(stderr, "usage: %s WEIGHTS [HEIGHT WIDTH]\n", argv[0]);
        return 2;
    }
    reid_error error;
    reid_desc desc = REID_INIT;
    reid_ctx *ctx;
    desc.weights = argv[1];
    desc.height = height;
    desc.width = width;
    desc.batch = 1; /* keeps the buffers small, because nothing is embedded here */
    desc.error = &error;

    if (reid_create(&desc, &ctx) != REID_OK) {
        fprintf(stderr, "print_plan: %s\n", error.text);
        return 1;
    }
    print_plan(ctx);
    reid_destroy(ctx);
    return 0;
}
