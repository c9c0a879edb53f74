#include "groups/cluster_labels.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/spelling.h"
#include "base/unicode.h"
#include "evaluate/eval_label_table.h"
#include "evaluate/eval_labels.h"

#include <stdlib.h>
#include <string.h>

int crops_label(crops *c, const char *table) {
    label_set labels;
    memset(&labels, 0, sizeof labels);
    int good = labels_of_table(&labels, table, NULL);
    for (size_t i = 0; i < c->count && good; i++) {
        free(c->identities[i]);
        c->identities[i] = NULL;
    }
    for (size_t i = 0; i < labels.count && good; i++) {
        const labelled *l = &labels.at[i];
        size_t at = crops_find(c, l->id);
        if (at == SIZE_MAX) continue;
        if (c->identities[at]) { /* the table may list a crop twice: as a query and for the gallery */
            good = name_same(c->identities[at], l->identity);
            if (!good) say_error("%s: %s is given two identities", shown(table), shown(l->id));
            continue;
        }
        c->identities[at] = need_copy(l->identity, strlen(l->identity));
        good = c->identities[at] != NULL;
    }
    labels_free(&labels);
    return good;
}

typedef struct named {
    const char *name;
    uint32_t group, number;
} named;

static int by_name(const void *a, const void *b) {
    return name_order_spelled(((const named *)a)->name, ((const named *)b)->name);
}

int clusters_agree(const clusters *c, const crops *from, agreement *out) {
    named *rows = need_array(c->rows, sizeof *rows);
    uint32_t *groups = rows ? need_array(c->rows, 2 * sizeof *groups) : NULL;
    uint32_t *identities = groups ? groups + c->rows : NULL;
    size_t n = 0;
    int warned = 0;
    for (size_t i = 0; i < c->rows && groups; i++) {
        if (!from->identities[i] || c->group[i] == CLUSTERS_NONE) continue;
        const named one = {from->identities[i], c->group[i], 0};
        rows[n++] = one;
    }
    if (groups && !n) say_error("no crop has both a group and an identity to compare it with");
    if (n) qsort(rows, n, sizeof *rows, by_name);
    for (size_t i = 0, number = 0; i < n; i++) {
        number += i > 0 && !name_same(rows[i - 1].name, rows[i].name);
        warned = warned || (i > 0 && name_warn_of_forms(rows[i - 1].name, rows[i].name));
        groups[i] = rows[i].group;
        identities[i] = (uint32_t)number;
    }
    int good = n && agreement_of(out, groups, identities, n);
    free(rows), free(groups);
    return good;
}
