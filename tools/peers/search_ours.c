/* reid_search for search.py, which loads this as a shared library.

   cc -std=c99 -D_GNU_SOURCE -O2 -shared -fPIC -fvisibility=hidden tools/peers/search_ours.c -o build/search_ours.so
      -lm -lpthread */
#define REID_STATIC
#define REID_NO_CUDA
#define REID_IMPLEMENTATION
#include "../../reid.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *search_open(const float *floats, const uint16_t *halves, size_t count, int dim, int threads);
EXPORTED int search_run(void *index, const float *queries, int n, int k, reid_hit *hits, int *found);
EXPORTED void search_close(void *index);

void *search_open(const float *floats, const uint16_t *halves, size_t count, int dim, int threads) {
    reid_index *index;
    reid_desc desc = REID_INIT;
    reid_rows rows = {floats, halves, count, dim, NULL};
    desc.threads = threads;
    return reid_index_create(&desc, &rows, &index) == REID_OK ? index : NULL;
}

int search_run(void *index, const float *queries, int n, int k, reid_hit *hits, int *found) {
    reid_search_desc search = REID_INIT;
    search.k = k;
    return reid_search((reid_index *)index, queries, n, &search, hits, found, NULL);
}

void search_close(void *index) { reid_index_destroy((reid_index *)index); }
