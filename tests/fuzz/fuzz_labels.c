/* Fuzzer for the inputs of reid eval and reid calibrate: tables of labels and of pairs, MSMT17's lists, ids that reveal
   their layout, and calibrations. Accepted input must be consistent, refused input must come with a reason.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_labels.c
         -o build/fuzz_labels -lm
   build/fuzz_labels -dict=tests/fuzz/labels.dict CORPUS_DIRECTORY
   With any compiler, to replay inputs: add tests/fuzz/fuzz_main.c and leave out -fsanitize=fuzzer. */
#include "base/csv.c"
#include "base/file_kind.c"
#include "base/files.c"
#include "base/replace.c"
#include "base/source.c"
#include "base/memory.c"
#include "base/decimal.c"
#include "base/json_write.c"
#include "base/text.c"
#include "base/unicode.c"
#include "evaluate/eval_label_table.c"
#include "evaluate/eval_labels.c"
#include "scores/calibration.c"
#include "scores/calibration_file.c"
#include "base/random.c"
#include "scores/metrics.c"
#define fail json_fail_at /* functions of two of these files have the same name */
#include "base/json.c"
#define find_columns pair_find_columns
#define read_row pair_read_row
#include "base/union_find.c"
#include "evaluate/labelled_pairs.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

/* Stubs for functions that the files above call and that do not matter here; refusals are not printed. */
void say_error(const char *format, ...) { (void)format; }
void say_warning(const char *format, ...) { (void)format; }
const char *shown(const char *name) { return name; }
int inputs_add_path(inputs *list, const char *path) { return list && path; }
void inputs_free(inputs *list) { (void)list; }
int choice_index(const char *choices, const char *value) { return strstr(choices, value) && *value ? 1 : -1; }
int scores_threads(int wanted) { return wanted; }
int scores_run(const score_job *job) { return job == NULL; }
const char *reid_version_string(void) { return "fuzz"; }
double reid_cosine(const float *a, const float *b, int dim) { return dim > 0 ? (double)(a[0] * b[0]) : 0; }

static void check_labels(label_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        const labelled *l = &set->at[i];
        MUST(l->id && l->identity && (l->query || l->gallery));
        MUST(!l->distractor || l->identity[strspn(l->identity, "0")] == 0);
    }
    size_t before = set->count;
    labels_order_by_role(set);
    MUST(set->count == before);
    for (size_t i = 1; i < set->count; i++) MUST(set->at[i - 1].query || !set->at[i].query);
}

static void try_table(const text *file) {
    label_set set;
    text why = TEXT_INIT;
    memset(&set, 0, sizeof set);
    int good = read_table(&set, file, "root", &why);
    MUST(good == (why.len == 0));
    if (good) {
        sort_out(&set);
        check_labels(&set);
    }
    labels_free(&set);
    text_free(&why);
}

static void try_pairs(const text *file) {
    pair_rows rows = {NULL, 0, 0, NULL};
    pair_table table = {NULL, 0, 0};
    label_set labels;
    text why = TEXT_INIT;
    memset(&labels, 0, sizeof labels);
    int good = read_rows(&rows, file, &why) && make_table(&table, &labels, &rows, &why);
    MUST(good == (why.len == 0));
    for (size_t i = 0; i < table.count && good; i++) {
        MUST(table.at[i][0] < labels.count && table.at[i][1] < labels.count && table.at[i][0] != table.at[i][1]);
        MUST(rows.at[i].same == (strcmp(labels.at[table.at[i][0]].identity, labels.at[table.at[i][1]].identity) == 0));
    }
    for (size_t i = 0; i < rows.count; i++) {
        free(rows.at[i].path[0]);
        free(rows.at[i].path[1]);
    }
    free(rows.at);
    pair_table_free(&table);
    labels_free(&labels);
    text_free(&why);
}

/* Each line is an id; its first half is the identity that reid embed would have stored. */
static void try_ids(const text *file) {
    char *ids[64], *identities[64];
    known_row rows[64];
    size_t count = 0;
    label_set set;
    for (size_t at = 0; at < file->len && count < 64;) {
        size_t n = strcspn(file->s + at, "\n");
        ids[count] = mem_copy(file->s + at, n);
        identities[count] = mem_copy(file->s + at, n / 2);
        known_row row = {ids[count], identities[count], count % 3 ? "" : "1"};
        rows[count++] = row;
        at += n + 1;
    }
    if (labels_of_ids(&set, rows, count)) check_labels(&set);
    labels_free(&set);
    for (size_t i = 0; i < count; i++) {
        memset(&set, 0, sizeof set);
        char *line = mem_copy(ids[i], strlen(ids[i]));
        int no_memory = 0;
        if (msmt_line(&set, "root", line, 1, &no_memory)) MUST(set.count == 1 && set.at[0].camera && *set.at[0].camera);
        free(line);
        labels_free(&set);
        free(ids[i]);
        free(identities[i]);
    }
}

static void try_calibration(const text *file) {
    calibration c;
    json j;
    json_begin(&j, file->s, file->len);
    int good = calibration_read_json(&c, &j);
    MUST(good == !j.error[0]);
    if (good) {
        text out = TEXT_INIT;
        double last = -1;
        for (double score = -2; score <= 2; score += 0.125) {
            double p = calibration_probability(&c, score);
            if (c.method) MUST(isnan(p) || p >= last || last == -1);
            if (c.method) last = p;
        }
        calibration_json(&c, &out);
        text_free(&out);
    }
    calibration_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    text file = TEXT_INIT;
    text_add(&file, data, size);
    text_putc(&file, 0); /* 0-terminated even if empty, as file_read does */
    file.len = size;
    try_table(&file);
    try_pairs(&file);
    try_ids(&file);
    try_calibration(&file);
    text_free(&file);
    return 0;
}
