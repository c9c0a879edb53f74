#include "embedding/output.h"

#include "base/clock.h"
#include "base/decimal.h"
#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "base/source.h"
#include "embedding/npy.h"
#include "embedding/output_kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* FILE.part.log: a line of metadata, then a line per finished input: "ok END" (where its row ends in FILE.part) or
   "failed REASON". A line is written after its row is on disk. "complete SIZE INODE" comes last, before FILE.part gets
   its final name: with it, --resume finds the rows of a run that was killed during the renames. */
struct output {
    output_request o;
    output_form as;
    pending data, log, ids, meta;
    text data_buffer, log_buffer; /* not yet written */
    size_t data_end, log_end;     /* written */
    double saved;                 /* time of the last save */
    text ids_path, meta_path;
    output_facts facts;
    text why;                     /* the first error */
    const char *failed;           /* the file that it is about; NULL: FILE */
    int broken;
};

size_t output_rows(const output *out) { return out->facts.rows; }
size_t output_failures(const output *out) { return out->facts.failed; }

void output_say_all_failed(size_t count) {
    if (count == 1) say_error("the only input failed; nothing was written");
    else say_error("all %zu inputs failed; nothing was written", count);
}

output_form output_form_of(const char *path) {
    static const char *const endings[] = {NULL, ".npy", ".jsonl", ".csv"};
    for (int k = OUTPUT_NPY; k <= OUTPUT_CSV; k++)
        if (path_has_ending(path, endings[k])) return (output_form)k;
    return OUTPUT_STDOUT;
}

void output_side_name(text *name, const char *path, const char *ending) {
    int stem = (int)strlen(path) - (output_form_of(path) == OUTPUT_NPY ? 4 : 0);
    text_printf(name, "%.*s%s", stem, path, ending);
}

void output_csv_header(text *t, int dim) {
    text_puts(t, "path,identity");
    for (int i = 0; i < dim; i++) text_printf(t, ",e%d", i);
    text_putc(t, '\n');
}

static const output_kind *kind_of(output_form as) {
    return as == OUTPUT_NPY ? &NPY_FILE : as == OUTPUT_CSV ? &EMBEDDINGS_CSV : &EMBEDDINGS_JSONL;
}

/* What every log begins with, see output_meta_key. */
static const char LOG_START[] = "{\"reid_part\": ";

/* 1 if both files are missing or left by an interrupted run, which may be replaced: the log begins like one, as far as
   it was written, and rows have a log. Another program gives FILE.part to unfinished downloads. */
static int is_left_over(const char *part, const char *log, text *why) {
    char start[sizeof LOG_START - 1];
    struct stat st;
    source file;
    text unused = TEXT_INIT;
    if (lstat(log, &st) == 0) {
        int good = S_ISREG(st.st_mode) && source_open(&file, log, &unused);
        size_t n = good && file.size < sizeof start ? (size_t)file.size : sizeof start;
        good = good && source_read(&file, 0, start, n, &unused) && memcmp(start, LOG_START, n) == 0;
        source_close(&file);
        text_free(&unused);
        if (good) return 1;
        text_printf(why, "%s already exists, and is not the log of an interrupted run: rename or remove it", log);
        return 0;
    }
    if (lstat(part, &st) != 0 || (S_ISREG(st.st_mode) && st.st_size == 0)) return 1;
    text_printf(why, "%s already exists, and is not what an interrupted run left, because %s is missing: rename or "
                     "remove it", part, log);
    return 0;
}

/* The side files are replaced at the end. Whether they may be replaced is checked here, before the work. */
static int side_target(output *out, const char *path, const output_kind *kind) {
    if (file_target(path, kind, &out->why)) return 1;
    out->failed = path;
    return 0;
}

static int open_files(output *out, const char *path) {
    text part = TEXT_INIT, log = TEXT_INIT;
    struct stat st;
    int keep = out->o.resume != 0;
    output_side_name(&out->ids_path, path, ".ids.txt");
    output_side_name(&out->meta_path, path, ".meta.json");
    text_printf(&part, "%s.part", path);
    text_printf(&log, "%s.log", part.s);
    if (text_failed(&part) || text_failed(&log) || text_failed(&out->ids_path) || text_failed(&out->meta_path)) {
        text_free(&part);
        text_free(&log);
        return text_no_memory(&out->why);
    }
    int left_over = !keep && stat(log.s, &st) == 0 && st.st_size > 0;
    int good = (out->as != OUTPUT_NPY || side_target(out, out->ids_path.s, &IDS_FILE)) &&
               side_target(out, out->meta_path.s, &META_FILE) && file_target(path, kind_of(out->as), &out->why) &&
               is_left_over(part.s, log.s, &out->why) &&
               pending_open(&out->data, path, kind_of(out->as), part.s, keep, &out->why) &&
               pending_open(&out->log, NULL, NULL, log.s, keep, &out->why);
    if (good && keep && fstat(out->log.fd, &st) == 0) out->log_end = (size_t)st.st_size; /* --resume may continue it */
    if (good && left_over) say_warning("%s of an interrupted run is replaced; --resume would have continued it",
                                       shown(part.s));
    text_free(&part);
    text_free(&log);
    return good;
}

output *output_open(const output_request *o) {
    output *out = need_zeroed(1, sizeof *out);
    const char *path = o->path;
    if (!out) return NULL;
    out->o = *o;
    if (path && strcmp(path, "-") != 0) {
        out->as = output_form_of(path);
        if (out->as == OUTPUT_STDOUT) text_puts(&out->why, "the name must end in .npy, .jsonl or .csv");
        else open_files(out, path);
    } else if (o->resume) {
        path = "--resume";
        text_puts(&out->why, "needs a file to continue: give -o FILE");
    }
    if (!out->why.len) return out;
    say_error("%s: %s", shown(out->failed ? out->failed : path), out->why.s);
    output_discard(out);
    return NULL;
}

static void free_output(output *out) {
    text_free(&out->data_buffer);
    text_free(&out->log_buffer);
    text_free(&out->ids_path);
    text_free(&out->meta_path);
    text_free(&out->why);
    output_facts_free(&out->facts);
    free(out);
}

void output_drop(output *out) {
    out->log_end = 0;
    output_discard(out);
}

void output_discard(output *out) {
    if (out->as == OUTPUT_STDOUT) results_end(0);
    int worth_keeping = out->o.resume && out->log_end > 0;
    (worth_keeping ? pending_close : pending_remove)(&out->data); /* never without the log that tells whose it is */
    (worth_keeping ? pending_close : pending_remove)(&out->log);
    pending_close(&out->ids);
    pending_close(&out->meta);
    free_output(out);
}

/* Records that memory ran out, unless an earlier error is recorded. Always returns 0. */
static int no_memory(output *out) {
    if (!out->broken) text_no_memory(&out->why);
    out->broken = 1;
    return 0;
}

static int flush_text(output *out, pending *to, text *buffer, size_t *end) {
    if (text_failed(buffer)) no_memory(out);
    if (!out->broken && !pending_write(to, buffer->s, buffer->len, *end, &out->why)) out->broken = 1;
    if (!out->broken) *end += buffer->len;
    text_clear(buffer);
    return !out->broken;
}

/* Writes rows first, then the log that declares them complete. */
static int save(output *out) {
    if (!flush_text(out, &out->data, &out->data_buffer, &out->data_end)) return 0;
    if (!out->broken && !pending_sync(&out->data, &out->why)) out->broken = 1;
    out->saved = clock_seconds();
    return flush_text(out, &out->log, &out->log_buffer, &out->log_end);
}

void output_interrupt(output *out) {
    if (out->as == OUTPUT_STDOUT) {
        results_abandon();
        free_output(out);
        return;
    }
    if (out->o.resume) save(out);
    output_discard(out);
}

static const size_t BLOCK = (size_t)1 << 20; /* bytes of rows per write */

/* Logs a finished input: its row ends at the buffer's end, or it failed. */
static int finish_input(output *out, const char *failed) {
    const double every = 1; /* seconds of work that a crash may cost */
    if (out->as == OUTPUT_STDOUT) return 1;
    if (failed) text_puts(&out->log_buffer, "failed "), text_id_line(&out->log_buffer, failed);
    else text_printf(&out->log_buffer, "ok %zu\n", out->data_end + out->data_buffer.len);
    if (clock_seconds() - out->saved > every) return save(out);
    return out->data_buffer.len < BLOCK || flush_text(out, &out->data, &out->data_buffer, &out->data_end);
}

static void json_row(text *t, const input *in, const models *all, const float *row) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "path", in->id);
    json_put_string(&w, "identity", in->identity);
    if (in->camera) json_put_string(&w, "camera", in->camera);
    json_put_array(&w, "embeddings");
    for (int m = 0; m < all->count; row += all->at[m++].info.dim)
        json_put_floats(&w, NULL, row, (size_t)all->at[m].info.dim);
    json_put_finish(&w);
}

static void csv_row(text *t, const input *in, int dim, const float *row) {
    text_csv(t, in->id);
    text_putc(t, ',');
    text_csv(t, in->identity);
    text_putc(t, ',');
    decimal_floats(t, row, (size_t)dim);
    text_putc(t, '\n');
}

int output_row(output *out, size_t index, const float *row) {
    const input *in = &out->facts.list->at[index];
    const models *all = out->facts.all;
    text *t = &out->data_buffer;
    output_facts_row(&out->facts, in);
    if (!output_facts_whole(&out->facts)) return no_memory(out);
    if (out->as == OUTPUT_NPY) text_add(t, row, (size_t)all->dim * sizeof *row);
    else if (out->as == OUTPUT_CSV) csv_row(t, in, all->dim, row);
    else json_row(t, in, all, row);
    if (out->as != OUTPUT_STDOUT) return finish_input(out, NULL);
    int good = results_write(t);
    text_clear(t);
    return good;
}

int output_failure(output *out, size_t index, const char *why) {
    output_facts_failure(&out->facts, out->facts.list->at[index].id, why);
    if (!output_facts_whole(&out->facts)) return no_memory(out);
    return finish_input(out, why);
}

/* Adds what precedes the first row. Only the first shard has CSV's header, so that cat can join the shards. */
static void add_prologue(output *out) {
    char header[NPY_HEADER];
    text *t = &out->data_buffer;
    if (out->as == OUTPUT_NPY) {
        npy_header(header, 0, (size_t)out->facts.all->dim);
        text_add(t, header, sizeof header);
    } else if (out->as == OUTPUT_CSV && out->o.shard <= 1) {
        output_csv_header(t, out->facts.all->dim);
    }
}

/* Undoes, in place, the escapes of text_id_line. */
static const char *unescape(char *s) {
    char *to = s;
    for (const char *from = s; *from; from++) {
        if (*from != '\\' || !from[1]) *to++ = *from;
        else *to++ = *++from == 'n' ? '\n' : *from;
    }
    *to = 0;
    return s;
}

/* Reads the log of the interrupted run line by line, as far as its rows exist. Returns the number of finished
   inputs. */
static size_t replay(output *out, text *log, size_t at, size_t data_size) {
    size_t index = out->facts.first;
    text line = TEXT_INIT;
    while (index < out->facts.end) {
        char *end = memchr(log->s + at, '\n', log->len - at);
        size_t row_end;
        if (!end) break;
        text_clear(&line);
        text_add(&line, log->s + at, (size_t)(end - log->s) - at);
        if (text_failed(&line)) break;
        const input *in = &out->facts.list->at[index];
        if (sscanf(line.s, "ok %zu", &row_end) == 1) {
            if (row_end < out->data_end || row_end > data_size) break;
            output_facts_row(&out->facts, in);
            out->data_end = row_end;
        } else if (strncmp(line.s, "failed ", 7) == 0) {
            const char *reason = unescape(line.s + 7);
            say_error("%s: %s (in the interrupted run)", shown(in->id), reason);
            output_facts_failure(&out->facts, in->id, reason);
        } else {
            break;
        }
        index++;
        at = (size_t)(end - log->s) + 1;
    }
    if (text_failed(&line) || !output_facts_whole(&out->facts)) no_memory(out);
    text_free(&line);
    out->log_end = at;
    return index - out->facts.first;
}

/* 1 if the interrupted run's log is of a run like this one; otherwise sets why. */
static int log_is_ours(output *out, const text *log, const text *head) {
    if (log->len >= head->len && memcmp(log->s, head->s, head->len) == 0) return 1;
    text_clear(&out->why);
    text_puts(&out->why,
              "it was started with other inputs, models or options, so --resume cannot continue it; remove it "
              "and its .log to start over");
    return 0;
}

/* Parses the log's last line if it is "complete SIZE INODE"; otherwise sets *size to 0. */
static void find_complete(const text *log, size_t *size, unsigned long long *inode) {
    const char *last = log->s + log->len - 1;
    *size = 0;
    *inode = 0;
    while (last > log->s && last[-1] != '\n') last--;
    if (log->s[log->len - 1] == '\n' && sscanf(last, "complete %zu %llu", size, inode) != 2) *size = 0;
}

/* If the rows already have their final name, uses them there and removes FILE.part, which is empty. */
static int adopt_renamed(output *out, size_t size, unsigned long long inode) {
    struct stat st;
    int fd = open(out->data.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return 0;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size != size || st.st_ino != (ino_t)inode ||
        st.st_uid != geteuid() || st.st_nlink != 1) {
        close(fd);
        return 0;
    }
    unlink(out->data.temp);
    close(out->data.fd);
    out->data.fd = fd;
    out->data.renamed = 1;
    return 1;
}

/* Continues the interrupted run: *done of its inputs are finished. Returns 0 to start over. */
static int continue_files(output *out, text *log, size_t head, size_t data_size, size_t *done) {
    size_t prologue = out->data_buffer.len, size;
    unsigned long long inode;
    find_complete(log, &size, &inode);
    if (data_size == 0 && size && adopt_renamed(out, size, inode)) data_size = size;
    if (data_size < prologue) return 0;
    out->data_end = prologue;
    text_clear(&out->data_buffer);
    *done = replay(out, log, head, data_size);
    return 1;
}

static int begin_files(output *out, size_t *done) {
    text head = TEXT_INIT, log = TEXT_INIT;
    struct stat st;
    output_meta_key(&out->facts, &out->o, &head);
    add_prologue(out);
    int good = !text_failed(&head) && !text_failed(&out->data_buffer);
    if (!good) no_memory(out);
    good = good && file_read(out->log.temp, (size_t)1 << 32, 1, &log, &out->why) && fstat(out->data.fd, &st) == 0;
    int begun = good && log.len && memchr(log.s, '\n', log.len); /* after a torn first line nothing was done */
    if (begun) good = log_is_ours(out, &log, &head);
    int continued = begun && good && continue_files(out, &log, head.len, (size_t)st.st_size, done);
    if (!continued) out->log_end = 0;
    good = good && !out->broken && pending_cut(&out->data, out->data_end, &out->why) &&
           pending_cut(&out->log, out->log_end, &out->why);
    if (good && !continued) {
        text_add(&out->log_buffer, head.s, head.len);
        good = save(out);
    }
    if (!good) {
        say_error("%s: %s", shown(out->data.temp), out->why.len ? out->why.s : "cannot be used");
        if (log.len) out->log_end = log.len; /* keep the existing log */
    }
    text_free(&head);
    text_free(&log);
    return good;
}

int output_begin(output *out, const models *all, const inputs *list, size_t first, size_t end, size_t *done) {
    *done = 0;
    output_facts_begin(&out->facts, all, list, first, end);
    out->saved = clock_seconds();
    if (out->as != OUTPUT_STDOUT) return begin_files(out, done);
    return results_begin(out->o.strict);
}

int output_adopt(output *out, output_facts *facts) {
    const output_facts none = {0};
    out->facts = *facts;
    *facts = none;
    add_prologue(out);
    return output_facts_whole(&out->facts) || no_memory(out);
}

int output_bytes(output *out, const void *bytes, size_t len) {
    text_add(&out->data_buffer, bytes, len);
    return out->data_buffer.len < BLOCK || flush_text(out, &out->data, &out->data_buffer, &out->data_end);
}

/* Writes `content` under a temporary name next to the final one. */
static int write_side_file(output *out, pending *p, const char *path, const output_kind *kind, const text *content) {
    if (text_failed(content)) return no_memory(out);
    out->failed = path;
    int good = pending_begin(p, path, kind, &out->why) && pending_write(p, content->s, content->len, 0, &out->why) &&
               pending_sync(p, &out->why);
    if (good) out->failed = NULL;
    return good;
}

/* The old metadata is removed first and the new one renamed last, so that metadata never exists without its files.
   After a failure the old files are back. */
static int rename_all(output *out) {
    pending *const order[] = {&out->data, &out->ids, &out->meta};
    if (!pending_rename_all(order, 3, &out->failed, &out->why)) return 0;
    sync_folder_of(out->data.path);
    pending_remove(&out->log);
    return 1;
}

/* Writes the log's last line and syncs it before any rename. */
static int log_complete(output *out) {
    struct stat st;
    text line = TEXT_INIT;
    if (fstat(out->data.fd, &st) != 0) {
        text_printf(&out->why, "cannot read: %s", strerror(errno));
        return 0;
    }
    text_printf(&line, "complete %zu %llu\n", (size_t)st.st_size, (unsigned long long)st.st_ino);
    int good = pending_write(&out->log, line.s, line.len, out->log_end, &out->why) &&
               pending_sync(&out->log, &out->why);
    text_free(&line);
    return good;
}

static int finish_files(output *out) {
    char header[NPY_HEADER];
    text meta = TEXT_INIT;
    output_meta_json(&out->facts, &out->o, &meta);
    int good = save(out);
    if (good && out->as == OUTPUT_NPY) {
        npy_header(header, out->facts.rows, (size_t)out->facts.all->dim);
        good = pending_write(&out->data, header, sizeof header, 0, &out->why) && pending_sync(&out->data, &out->why) &&
               write_side_file(out, &out->ids, out->ids_path.s, &IDS_FILE, &out->facts.ids);
    }
    good = good && write_side_file(out, &out->meta, out->meta_path.s, &META_FILE, &meta) && log_complete(out) &&
           rename_all(out);
    text_free(&meta);
    return good;
}

int output_finish(output *out) {
    int good;
    if (out->as == OUTPUT_STDOUT) {
        good = results_end(1);
        free_output(out);
        return good;
    }
    good = !out->broken && finish_files(out);
    if (!good) say_error("%s: %s", shown(out->failed ? out->failed : out->o.path), out->why.s);
    (good ? output_drop : output_discard)(out);
    return good;
}
