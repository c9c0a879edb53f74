/* Runs a fuzzer's entry point on files, for compilers without libFuzzer and for replaying an input under a debugger:

   cc -std=c99 -D_GNU_SOURCE -g -I. -fsanitize=address,undefined tests/fuzz/fuzz_safetensors.c
      tests/fuzz/fuzz_main.c -o build/replay -lm -lpthread -ldl
   build/replay FILE… */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path) {
    FILE *f = fopen(path, "rb");
    long size = -1;
    if (f && fseek(f, 0, SEEK_END) == 0) size = ftell(f);
    uint8_t *data = size >= 0 ? (uint8_t *)malloc((size_t)size + !size) : NULL; /* exact: a sanitizer sees an overrun */
    int ok = data && fseek(f, 0, SEEK_SET) == 0 && fread(data, 1, (size_t)size, f) == (size_t)size;
    if (ok) LLVMFuzzerTestOneInput(data, (size_t)size);
    else perror(path);
    free(data);
    if (f) fclose(f);
    return ok;
}

int main(int argc, char **argv) {
    int failed = argc < 2;
    for (int i = 1; i < argc; i++) failed |= !replay(argv[i]);
    if (argc < 2) fprintf(stderr, "usage: %s FILE...\n", argv[0]);
    else printf("%d inputs\n", argc - 1);
    return failed;
}
