#include "embedding/image_inputs.h"

#include "pictures/decoder_memory.h"

/* Bytes of a decoded image: (height, width, 3). */
static size_t pixel_bytes(const picture *p) { return 3 * (size_t)p->width * (size_t)p->height; }

int image_decode(picture *p, const image_budget *budget, text *why) {
    const size_t cost = p->cost;
    text_clear(why);
    if (!budget->reserve(budget->user, cost)) return 0;
    if (picture_decode(p, why)) {
        budget->release(budget->user, cost - pixel_bytes(p));
        return 1;
    }
    budget->release(budget->user, cost);
    return 0;
}

unsigned char *image_prepare(picture *p, const model *m, const reid_image *crops, size_t count,
                             const image_budget *budget) {
    const size_t bytes = pixel_bytes(p);
    unsigned char *prepared = model_prepare(m, crops, count, bytes);
    if (!prepared) return NULL;
    decoder_free(p->rgb);
    p->rgb = NULL;
    budget->release(budget->user, bytes - count * model_input_bytes(m));
    return prepared;
}
