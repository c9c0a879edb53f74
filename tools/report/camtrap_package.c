#include "report/camtrap_package.h"

#include "base/csv.h"
#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "base/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const size_t MOST_BYTES = (size_t)1 << 32, MOST_DESCRIPTION = (size_t)256 << 20;

void camtrap_path(const camtrap_package *p, const char *file, text *out) {
    text_clear(out);
    text_puts(out, p->folder);
    if (out->len && out->s[out->len - 1] != '/') text_putc(out, '/');
    text_puts(out, file);
}

/* --- datapackage.json --------------------------------------------------------------------------------------------- */

static const char PROFILE[] = "/camtrap-dp/";
static const char *const VERSIONS[] = {"1.0/", "1.0.1/", "1.0.2/"};

static void check_profile(json *j, text *word) {
    const char *version = json_string(j, word) ? strstr(word->s, PROFILE) : NULL;
    size_t k = 0;
    if (j->error[0]) return;
    version = version ? version + strlen(PROFILE) : "";
    while (k < sizeof VERSIONS / sizeof *VERSIONS && strncmp(version, VERSIONS[k], strlen(VERSIONS[k])) != 0) k++;
    if (k == sizeof VERSIONS / sizeof *VERSIONS || !text_ends_with(word->s, "camtrap-dp-profile.json"))
        json_fail(j, "\"profile\": expected that of Camtrap DP 1.0, 1.0.1 or 1.0.2");
}

static int is_web(const char *path) { return strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0; }

static int is_one_of_three(const char *name) {
    return strcmp(name, "deployments") == 0 || strcmp(name, "media") == 0 || strcmp(name, "observations") == 0;
}

/* Reads the name and path of a resource; errors go to j. */
typedef struct resource {
    text name, path;
    int plain; /* the file is CSV in UTF-8, with commas */
} resource;

static void read_resource(json *j, resource *r, text *key, text *word) {
    text_clear(&r->name), text_clear(&r->path);
    r->plain = 1;
    for (json_object(j); json_key(j, key);) {
        if (strcmp(key->s, "name") == 0) json_string(j, &r->name);
        else if (strcmp(key->s, "path") == 0 && json_peek(j) == '[') json_fail(j, "\"path\": expected one file");
        else if (strcmp(key->s, "path") == 0) json_string(j, &r->path);
        else if (strcmp(key->s, "encoding") == 0 && json_peek(j) == '"') {
            if (json_string(j, word)) r->plain &= strcasecmp(word->s, "utf-8") == 0 || strcasecmp(word->s, "utf8") == 0;
        } else {
            r->plain &= strcmp(key->s, "dialect") != 0 && strcmp(key->s, "compression") != 0;
            json_skip(j);
        }
    }
}

static void take_resource(camtrap_package *p, json *j, const resource *r) {
    const char *name = r->name.len ? r->name.s : "", *path = r->path.len ? r->path.s : "";
    int of_three = is_one_of_three(name);
    if (j->error[0]) return;
    if (of_three && (!r->plain || !text_ends_with(path, ".csv") || is_web(path))) {
        json_fail(j, "deployments, media and observations must be .csv files in its folder, UTF-8, without a dialect");
    } else if (*path && !is_web(path)) {
        char *copy = strchr(path, '/') || *path == '.' ? NULL : mem_copy(path, strlen(path));
        if (strchr(path, '/') || *path == '.') json_fail(j, "\"path\": expected a file in its folder");
        else if (!copy || !GROW(p->files, p->file_count, p->file_cap)) free(copy), json_fail(j, "out of memory");
        else {
            p->files[p->file_count++] = copy;
            if (strcmp(name, "media") == 0) p->media_file = copy;
            if (strcmp(name, "observations") == 0) p->observations_file = copy;
            p->deployments |= strcmp(name, "deployments") == 0;
        }
    }
}

static void read_description(camtrap_package *p, json *j) {
    text key = TEXT_INIT, word = TEXT_INIT;
    resource r = {TEXT_INIT, TEXT_INIT, 0};
    int profile = 0;
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "profile") == 0) {
            check_profile(j, &word);
            profile = 1;
        } else if (strcmp(key.s, "resources") == 0) {
            for (json_array(j); json_item(j);) {
                read_resource(j, &r, &key, &word);
                take_resource(p, j, &r);
            }
        } else {
            json_skip(j);
        }
    }
    json_end(j);
    if (!j->error[0] && !profile) json_fail(j, "\"profile\" is missing: this is not a Camtrap DP package");
    if (!j->error[0] && (!p->media_file || !p->observations_file || !p->deployments))
        json_fail(j, "\"resources\": expected deployments, media and observations among them");
    text_free(&key), text_free(&word), text_free(&r.name), text_free(&r.path);
}

static int open_description(camtrap_package *p) {
    text file = TEXT_INIT, why = TEXT_INIT, path = TEXT_INIT;
    json j;
    camtrap_path(p, "datapackage.json", &path);
    int good = need_text(&path);
    if (good && !file_read(path.s, MOST_DESCRIPTION, 1, &file, &why)) {
        say_error("%s: %s", shown(path.s), why.s);
        good = 0;
    }
    if (good) {
        json_begin(&j, file.s, file.len);
        read_description(p, &j);
        good = !j.error[0];
        if (!good) say_error("%s: %s", shown(path.s), j.error);
    }
    text_free(&file), text_free(&why), text_free(&path);
    return good;
}

/* --- media -------------------------------------------------------------------------------------------------------- */

enum { ID, DEPLOYMENT, TIME, PATH, NAME, COLUMNS };

static void take_medium(const csv *row, const int *column, void *user, text *why) {
    camtrap_package *p = user;
    char *copies[COLUMNS];
    int good = GROW(p->media, p->media_count, p->media_cap);
    for (int k = 0; k < COLUMNS; k++) {
        const char *cell = column[k] < 0 ? "" : csv_field(row, column[k]);
        copies[k] = !good ? NULL : k < PATH ? mem_copy(cell, strlen(cell)) : name_decomposed(cell);
        good = good && copies[k];
        if (good && k < NAME && !*cell && !why->len)
            text_puts(why, "mediaID, deploymentID, timestamp or filePath is empty");
    }
    if (good) {
        const camtrap_medium one = {.id = copies[ID], .deployment = copies[DEPLOYMENT], .time = copies[TIME],
                                    .path = copies[PATH], .name = copies[NAME]};
        p->media[p->media_count++] = one;
        return;
    }
    for (int k = 0; k < COLUMNS; k++) free(copies[k]);
    text_no_memory(why);
}

static int by_last(const void *a, const void *b) {
    const camtrap_name *x = a, *y = b;
    int order = strcmp(x->last, y->last);
    return order ? order : (x->medium > y->medium) - (x->medium < y->medium);
}

static int name_media(camtrap_package *p) {
    p->names = need_array(2 * p->media_count + 1, sizeof *p->names);
    for (size_t i = 0; i < p->media_count && p->names; i++) {
        const camtrap_name by_path = {path_name(p->media[i].path), p->media[i].path, i};
        const camtrap_name by_name = {path_name(p->media[i].name), p->media[i].name, i};
        p->names[p->name_count++] = by_path;
        if (*p->media[i].name) p->names[p->name_count++] = by_name;
    }
    if (p->names) qsort(p->names, p->name_count, sizeof *p->names, by_last);
    return p->names != NULL;
}

static int open_media(camtrap_package *p) {
    static const char *const columns[COLUMNS] = {"mediaID", "deploymentID", "timestamp", "filePath", "fileName"};
    const csv_table table = {columns, COLUMNS, NAME, "", take_medium, p};
    text file = TEXT_INIT, why = TEXT_INIT, path = TEXT_INIT;
    camtrap_path(p, p->media_file, &path);
    int good = need_text(&path);
    if (good && (!file_read(path.s, MOST_BYTES, 1, &file, &why) || !csv_read(&table, &file, &why))) {
        say_error("%s: %s", shown(path.s), why.s);
        good = 0;
    }
    text_free(&file), text_free(&why), text_free(&path);
    return good && name_media(p);
}

/* Counts equal parts of two paths from their ends. */
static size_t shared_parts(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t parts = 0;
    for (;;) {
        size_t x = a_length, y = b_length;
        while (x > 0 && a[x - 1] != '/') x--;
        while (y > 0 && b[y - 1] != '/') y--;
        if (a_length - x != b_length - y || a_length == x || memcmp(a + x, b + y, a_length - x) != 0) return parts;
        parts++;
        if (x == 0 || y == 0) return parts;
        a_length = x - 1, b_length = y - 1;
    }
}

static size_t parts_of(const char *path, size_t length) {
    size_t parts = 0;
    for (size_t i = 0; i < length; i++) parts += path[i] != '/' && (i == 0 || path[i - 1] == '/');
    return parts;
}

static camtrap_medium *find_medium(const camtrap_package *p, const char *picture, size_t length, text *why) {
    size_t low = 0, high = p->name_count, best = 0, found = SIZE_MAX, other = SIZE_MAX, last = length;
    size_t all = parts_of(picture, length);
    while (last > 0 && picture[last - 1] != '/') last--;
    while (low < high) {
        size_t middle = low + (high - low) / 2, n = strlen(p->names[middle].last), m = length - last;
        int order = memcmp(p->names[middle].last, picture + last, n < m ? n : m);
        if (order < 0 || (order == 0 && n < m)) low = middle + 1;
        else high = middle;
    }
    for (size_t i = low; i < p->name_count; i++) {
        const camtrap_name *name = &p->names[i];
        size_t whole = strlen(name->whole), parts = shared_parts(name->whole, whole, picture, length);
        if (parts == 0) break;
        if (parts != all && parts != parts_of(name->whole, whole)) continue;
        if (parts > best) best = parts, found = name->medium, other = SIZE_MAX;
        else if (parts == best && name->medium != found) other = name->medium;
    }
    if (found == SIZE_MAX) {
        text path = TEXT_INIT;
        text_add(&path, picture, length);
        if (text_failed(&path)) text_no_memory(why);
        else refuse(why, "no filePath or fileName of the package's media ends like its path, %s", shown(path.s));
        text_free(&path);
        return NULL;
    }
    if (other == SIZE_MAX) return &p->media[found];
    refuse(why, "may be medium %s or %s; use ids that contain more of the path", shown(p->media[found].id),
           shown(p->media[other].id));
    return NULL;
}

camtrap_medium *camtrap_find(const camtrap_package *p, const char *picture, size_t length, text *why) {
    char *name = mem_copy(picture, length), *key = name ? name_decomposed(name) : NULL;
    camtrap_medium *found = key ? find_medium(p, key, strlen(key), why) : NULL;
    if (!key) text_no_memory(why);
    free(name), free(key);
    return found;
}

/* --- the package -------------------------------------------------------------------------------------------------- */

int camtrap_open(camtrap_package *p, const char *folder) {
    memset(p, 0, sizeof *p);
    p->folder = need_copy(folder, strlen(folder));
    return p->folder && open_description(p) && open_media(p);
}

void camtrap_free(camtrap_package *p) {
    for (size_t i = 0; i < p->file_count; i++) free(p->files[i]);
    for (size_t i = 0; i < p->media_count; i++) {
        camtrap_medium *m = &p->media[i];
        free(m->id), free(m->deployment), free(m->time), free(m->path), free(m->name);
    }
    free(p->folder), free(p->files), free(p->media), free(p->names);
    memset(p, 0, sizeof *p);
}
