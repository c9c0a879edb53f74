#include "heads/fit_parts.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

size_t fit_turns(const fit_request *r, int turns, int *turn) {
    uint64_t state = r->seed;
    size_t eligible = 0, drawn = 0;
    for (size_t c = 0; c < r->identities; c++) turn[c] = -2; /* crops, from -2 downward */
    for (size_t i = 0; i < r->count; i++)
        if (turn[r->identity[r->pick[i]]] > -4) turn[r->identity[r->pick[i]]]--;
    for (size_t c = 0; c < r->identities; c++) {
        eligible += turn[c] == -4;
        turn[c] = turn[c] == -4 ? -2 : -1; /* -2: not drawn yet */
    }
    /* draws one of those that are left; they are dealt to the turns in this order */
    for (; drawn < eligible; drawn++) {
        size_t k = random_below(&state, eligible - drawn), c = 0;
        for (;; c++)
            if (turn[c] == -2 && k-- == 0) break;
        turn[c] = (int)(drawn % (size_t)turns);
    }
    return eligible;
}

void fitted_free(fitted *f) {
    for (int p = 0; p < FIT_MOST_PARTS; p++) {
        free(f->part[p].weight);
        free(f->part[p].bias);
    }
    memset(f, 0, sizeof *f);
}

size_t fitted_dim(const fitted *f) {
    size_t dim = 0;
    for (int p = 0; p < f->parts; p++) dim += f->part[p].found;
    return dim;
}

void fit_apply(const fitted *f, const fit_request *r, const float *row, float *out) {
    for (int p = 0; p < f->parts; p++) {
        const fitted_part *part = &f->part[p];
        const float *x = row + r->part[p].first;
        for (size_t j = 0; j < part->found; j++) {
            const double *w = part->weight + j * part->dim;
            double y = part->bias[j];
            for (size_t i = 0; i < part->dim; i++) y += w[i] * (double)x[i];
            *out++ = (float)y;
        }
    }
}
