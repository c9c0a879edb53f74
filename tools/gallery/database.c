#include "gallery/database.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "gallery/schema.h"
#include "gallery/store_format.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OLDEST_SERVER = 150000, PAUSE_US = 200000, TOKEN = 40, TABLE = 64, MOST_VALUES = 16000 };
#define AGAIN_SECONDS 10.0     /* for a server that does not answer */
#define STARTING_SECONDS 120.0 /* for a server that reports that it is starting up */
static const int OLDEST_VECTOR[3] = {0, 8, 4};

struct database {
    pq *c;
    char *url;
    store_meta meta;
    int embedder;
    char table[STORE_MODELS][TABLE];
    char token[TOKEN]; /* of the last transaction, see reid.writing; "": none */
    int stored;        /* 1: the last transaction was stored, so its token can be deleted */
    int open;          /* 1: in a transaction */
    int losses;
};

static int failed(text *why, const char *reason) {
    text_clear(why);
    text_puts(why, reason);
    return 0;
}

/* --- requirements of the server ----------------------------------------------------------------------------------- */

/* Answers to the first questions to a server. */
typedef struct server_facts {
    int has_schema, has_gallery;
    char encoding[32], vector[32], available[32]; /* versions of pgvector: installed, installable; "": none */
    int version;                                  /* of the schema */
} server_facts;

static void take_field(char *to, size_t size, const pq_result *r, int column) {
    snprintf(to, size, "%s", pq_text_at(r, 0, column));
}

static int look_around(pq *c, server_facts *s, text *why) {
    memset(s, 0, sizeof *s);
    pq_result *r = pq_ask(c,
        "SELECT current_setting('server_encoding'), (SELECT extversion FROM pg_extension WHERE extname = 'vector'), "
        "(SELECT default_version FROM pg_available_extensions WHERE name = 'vector'), "
        "EXISTS (SELECT FROM pg_namespace WHERE nspname = 'reid')", NULL, 0, "1ss?s?b", why);
    if (!r) return 0;
    take_field(s->encoding, sizeof s->encoding, r, 0);
    take_field(s->vector, sizeof s->vector, r, 1);
    take_field(s->available, sizeof s->available, r, 2);
    s->has_schema = pq_true_at(r, 0, 3);
    pq_free(r);
    if (!s->has_schema) return 1;
    r = pq_ask(c, "SELECT max(version), EXISTS (SELECT FROM reid.gallery) FROM reid.schema_version", NULL, 0, "1c?b",
               why);
    if (!r && strcmp(pq_state(c), "42501") == 0)
        text_puts(why, "; the owner of the gallery can grant you reid_reader or reid_writer");
    else if (!r && strcmp(pq_state(c), "42P01") == 0)
        failed(why, "has a schema \"reid\" that is not a gallery");
    if (!r) return 0;
    const int64_t version = pq_number_at(r, 0, 0);
    s->version = version > INT_MAX ? INT_MAX : (int)version;
    s->has_gallery = pq_true_at(r, 0, 1);
    pq_free(r);
    return 1;
}

static int vector_is_old(const char *version) {
    int part[3] = {0, 0, 0};
    if (sscanf(version, "%d.%d.%d", &part[0], &part[1], &part[2]) < 2) return 1;
    for (int i = 0; i < 3; i++)
        if (part[i] != OLDEST_VECTOR[i]) return part[i] < OLDEST_VECTOR[i];
    return 0;
}

static int server_suffices(const pq *c, const server_facts *s, text *why) {
    int version = pq_version(c);
    const char *vector = *s->vector ? s->vector : s->available;
    text_clear(why);
    if (version < OLDEST_SERVER)
        text_printf(why, "is PostgreSQL %d.%d; a gallery needs 15 or newer", version / 10000, version % 10000);
    else if (strcmp(s->encoding, "UTF8") != 0)
        text_printf(why, "is encoded in %s; a gallery needs a database in UTF8", s->encoding);
    else if (!*vector)
        text_puts(why, "the server has no pgvector; a gallery needs 0.8.4 or newer (Debian: postgresql-N-pgvector from "
                       "apt.postgresql.org)");
    else if (vector_is_old(vector))
        text_printf(why, "has pgvector %s; a gallery needs 0.8.4 or newer, because older versions can overflow while "
                         "they build an index in parallel or damage it in VACUUM (github.com/pgvector/pgvector, "
                         "CHANGELOG.md)%s", vector,
                    *s->vector ? "; after installing it: ALTER EXTENSION vector UPDATE" : "");
    return why->len == 0;
}

static int schema_fits(const server_facts *s, text *why) {
    text_clear(why);
    if (!s->has_schema || !s->has_gallery)
        text_puts(why, "contains no gallery; create one with \"reid gallery create\"");
    else if (!*s->vector)
        text_puts(why, "lacks pgvector; a superuser can install it with CREATE EXTENSION vector");
    else if (s->version > SCHEMA_VERSION)
        text_printf(why, "has tables of version %d; this program supports versions up to %d", s->version,
                    SCHEMA_VERSION);
    else if (s->version < SCHEMA_VERSION)
        text_printf(why,
                    "has tables of version %d, but version %d is needed: run the output of \"reid gallery sql %d\"",
                    s->version, SCHEMA_VERSION, s->version);
    return why->len == 0;
}

/* Settings for the whole session. If the server is set up so that COMMIT does not wait for the disk, it has to wait
   here: otherwise templates would be reported as stored too early. */
static int prepare_session(pq *c, text *why) {
    return pq_do(c, "SELECT set_config('client_min_messages', 'warning', false), set_config('search_path', "
                    "'pg_catalog' || coalesce((SELECT ', ' || quote_ident(n.nspname) FROM pg_extension e "
                    "JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'), ''), false), "
                    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' "
                    "THEN 'on' ELSE current_setting('synchronous_commit') END, false)", NULL, 0, why);
}

static pq *connect_to(const char *url, server_facts *s, text *why) {
    int missing;
    pq *c = pq_open(url, &missing, why);
    if (c && look_around(c, s, why) && server_suffices(c, s, why) && prepare_session(c, why)) return c;
    pq_close(c);
    return NULL;
}

/* --- models ------------------------------------------------------------------------------------------------------- */

/* Takes a model from columns first … first + 4. Its fingerprint becomes part of statements, so it is checked. */
static int take_model(database *d, const pq_result *r, int first, text *why) {
    if (pq_is_null(r, 0, first + 4)) return 1;
    int number = d->meta.models++;
    store_model *m = &d->meta.model[number];
    take_field(m->fingerprint, sizeof m->fingerprint, r, first);
    take_field(m->network, sizeof m->network, r, first + 1);
    take_field(m->preset, sizeof m->preset, r, first + 2);
    take_field(m->precision, sizeof m->precision, r, first + 3);
    const int64_t dim = pq_number_at(r, 0, first + 4);
    m->dim = dim >= 1 && dim <= MOST_VALUES ? (int)dim : 0;
    d->meta.dim += m->dim;
    if (strlen(m->fingerprint) != 32 || strspn(m->fingerprint, "0123456789abcdef") != 32)
        return failed(why, "is damaged: a model has an invalid fingerprint");
    if (!m->dim) {
        text_clear(why);
        text_printf(why, "is damaged: model %s has embeddings of %lld values; expected 1 to %d", m->fingerprint,
                    (long long)dim, MOST_VALUES);
        return 0;
    }
    memcpy(d->table[number], "embedding_", sizeof "embedding_");
    memcpy(d->table[number] + strlen(d->table[number]), m->fingerprint, sizeof m->fingerprint);
    return 1;
}

int database_refresh(database *d, text *why) {
    pq_result *r = pq_ask(d->c,
        "SELECT g.embedder, e.threshold, g.precision, a.fingerprint, a.network, a.preset, a.precision, a.dim, "
        "b.fingerprint, b.network, b.preset, b.precision, b.dim, array_to_string(a.jpeg || b.jpeg, ', ') "
        "FROM reid.gallery g JOIN reid.embedder e ON e.embedder_id = g.embedder "
        "JOIN reid.model a ON a.model_id = e.model_a LEFT JOIN reid.model b ON b.model_id = e.model_b",
        NULL, 0, "*ir?sssssns?s?s?s?n?s", why);
    if (!r) return 0;
    memset(&d->meta, 0, sizeof d->meta);
    int good = pq_rows(r) == 1 || failed(why, "contains no gallery; create one with \"reid gallery create\"");
    if (good) {
        d->embedder = (int)pq_number_at(r, 0, 0);
        d->meta.threshold = pq_real_at(r, 0, 1);
        d->meta.halves = strcmp(pq_text_at(r, 0, 2), "fp16") == 0;
        good = take_model(d, r, 3, why) && take_model(d, r, 8, why) &&
               (store_join_decoders(d->meta.jpeg, pq_text_at(r, 0, 13)) ||
                failed(why, "is damaged: invalid decoder names, or more than 4")) &&
               (meta_is_sound(&d->meta) || failed(why, "is damaged: it names no model, or its threshold is infinite"));
    }
    pq_free(r);
    return good;
}

const store_meta *database_info(const database *d) { return &d->meta; }
int database_embedder(const database *d) { return d->embedder; }
const char *database_table(const database *d, int model) { return d->table[model]; }
pq *database_connection(database *d) { return d->c; }
int database_losses(const database *d) { return d->losses; }

/* --- opening ------------------------------------------------------------------------------------------------------ */

database *database_try(const char *url, text *why) {
    server_facts s;
    database *d = mem_zeroed(1, sizeof *d);
    if (d) d->url = mem_copy(url, strlen(url));
    if (!d || !d->url) {
        text_no_memory(why);
        free(d);
        return NULL;
    }
    d->c = connect_to(url, &s, why);
    if (d->c && schema_fits(&s, why) && database_refresh(d, why)) return d;
    database_close(d);
    return NULL;
}

database *database_open(const char *url) {
    text why = TEXT_INIT;
    database *d = database_try(url, &why);
    if (!d && !interrupted()) say_error("%s: %s", shown(url), why.s ? why.s : "cannot be reached");
    text_free(&why);
    return d;
}

void database_close(database *d) {
    if (!d) return;
    if (d->c && d->stored) { /* the token will not be looked up any more */
        text unused = TEXT_INIT;
        const pq_argument token = {d->token, -1};
        pq_do(d->c, "DELETE FROM reid.stored WHERE token = $1::uuid", &token, 1, &unused);
        text_free(&unused);
    }
    pq_close(d->c);
    free(d->url);
    free(d);
}

int database_reconnect(database *d, text *why) {
    double start = clock_seconds();
    d->open = 0;
    d->losses++;
    while (!pq_open_again(d->c, d->url, why)) {
        double waited = clock_seconds() - start;
        if (interrupted() || waited > STARTING_SECONDS || (waited > AGAIN_SECONDS && !pq_is_starting(d->url))) return 0;
        usleep(PAUSE_US);
    }
    return prepare_session(d->c, why) && database_refresh(d, why);
}

int database_again(database *d, text *why) {
    store_meta before = d->meta;
    if (!database_reconnect(d, why)) return 0;
    if (d->meta.models == before.models && memcmp(d->meta.model, before.model, sizeof before.model) == 0 &&
        d->meta.halves == before.halves) return 1;
    return failed(why, "the gallery has been switched to other models in the meantime");
}

/* --- creating ----------------------------------------------------------------------------------------------------- */

int database_is_free(const char *url, text *why) {
    server_facts s;
    pq *c = connect_to(url, &s, why);
    int result = !c ? -1 : !s.has_gallery;
    if (c && s.has_schema && s.version != SCHEMA_VERSION) {
        s.has_gallery = 1; /* report problems with the tables first, not a missing gallery */
        schema_fits(&s, why);
        result = -1;
    }
    pq_close(c);
    return result;
}

/* Registers a model. Returns its model_id, or 0 with the reason in why. */
static int add_model(pq *c, const store_model *m, int halves, text *why) {
    char dim[16];
    snprintf(dim, sizeof dim, "%d", m->dim);
    const pq_argument arguments[] = {{m->fingerprint, -1}, {m->network, -1}, {m->preset, -1}, {m->precision, -1},
                                     {dim, -1}, {halves ? "fp16" : "fp32", -1}};
    pq_result *r = pq_ask(c, "SELECT reid.add_model($1, $2, $3, $4, $5::int, $6)", arguments, 6, "1i", why);
    int id = r ? (int)pq_number_at(r, 0, 0) : 0;
    pq_free(r);
    return id;
}

/* Creates the gallery, in a transaction, in an existing schema. */
static int fill_gallery(pq *c, const store_meta *meta, text *why) {
    char id[STORE_MODELS][16], threshold[40];
    for (int i = 0; i < meta->models; i++) {
        int number = add_model(c, &meta->model[i], meta->halves, why);
        if (!number) return 0;
        snprintf(id[i], sizeof id[i], "%d", number);
    }
    snprintf(threshold, sizeof threshold, "%.17g", meta->threshold);
    const pq_argument arguments[] = {{id[0], -1}, {meta->models > 1 ? id[1] : NULL, -1},
                                     {isnan(meta->threshold) ? NULL : threshold, -1},
                                     {meta->halves ? "fp16" : "fp32", -1}};
    return pq_do(c, "WITH e AS (INSERT INTO reid.embedder (model_a, model_b, threshold) "
                    "VALUES ($1::int, $2::int, $3::float8) RETURNING embedder_id) "
                    "INSERT INTO reid.gallery (embedder, precision) SELECT embedder_id, $4 FROM e", arguments, 4, why);
}

static int create_schema(pq *c, text *why) {
    text sql = TEXT_INIT;
    for (int version = 1; version <= SCHEMA_VERSION; version++) schema_text(&sql, version);
    int good = text_failed(&sql) ? text_no_memory(why) : pq_script(c, sql.s, why);
    text_free(&sql);
    /* The session began without pgvector's schema in its path. */
    return good && prepare_session(c, why);
}

static int fits_a_database(const store_meta *meta, text *why) {
    for (int i = 0; i < meta->models; i++) {
        const char *name = meta->model[i].fingerprint;
        if (strlen(name) != 32 || strspn(name, "0123456789abcdef") != 32)
            return failed(why, "a gallery in PostgreSQL needs the fingerprints of its models");
        if (meta->model[i].dim <= MOST_VALUES) continue;
        text_clear(why);
        text_printf(why, "embeddings of %d values are too long for PostgreSQL, which has up to %d", meta->model[i].dim,
                    MOST_VALUES);
        return 0;
    }
    return 1;
}

int database_create(const char *url, const store_meta *meta, text *why) {
    server_facts s;
    if (!fits_a_database(meta, why)) return 0;
    pq *c = connect_to(url, &s, why);
    if (!c) return 0;
    int good = !s.has_gallery || failed(why, "already exists");
    if (good) {
        good = pq_script(c, "BEGIN", why) && (s.has_schema || create_schema(c, why)) && fill_gallery(c, meta, why) &&
               pq_script(c, "COMMIT", why);
        if (!good && (strcmp(pq_state(c), "42P06") == 0 || strcmp(pq_state(c), "23505") == 0))
            failed(why, "already exists"); /* created a moment ago by another client */
    }
    pq_close(c);
    return good;
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

int database_begin(database *d, text *why) {
    char embedder[16];
    snprintf(embedder, sizeof embedder, "%d", d->embedder);
    const pq_argument arguments[] = {{embedder, -1}, {d->stored ? d->token : NULL, -1}};
    d->open = pq_script(d->c, "BEGIN ISOLATION LEVEL READ COMMITTED", why);
    if (!d->open) return 0;
    pq_result *r = pq_ask(d->c, "SELECT reid.writing($1::int, $2::uuid)", arguments, 2, "1s", why);
    if (!r && strcmp(pq_state(d->c), "RD001") == 0) d->losses++, d->stored = 0;
    if (!r) return 0;
    take_field(d->token, sizeof d->token, r, 0);
    d->stored = 0;
    pq_free(r);
    return 1;
}

/* 1 if the transaction with our token was stored, else 0; -1 with the reason in why. The INSERT of the same token waits
   until that transaction has ended, and conflicts if it was stored. */
static int look_up_token(database *d, text *why) {
    const pq_argument token = {d->token, -1};
    pq_result *r = NULL;
    d->open = pq_script(d->c, "BEGIN", why);
    if (d->open)
        r = pq_ask(d->c, "INSERT INTO reid.stored (token) VALUES ($1::uuid) ON CONFLICT DO NOTHING", &token, 1, "*",
                   why);
    int result = r ? pq_changed(r) == 0 : -1;
    pq_free(r);
    database_rollback(d);
    return result;
}

int database_commit(database *d, int *unknown, text *why) {
    int known = 1;
    d->stored = pq_script(d->c, "COMMIT", why);
    d->open = 0;
    if (!d->stored && pq_lost(d->c)) {
        text reason = TEXT_INIT;
        int found = database_again(d, &reason) ? look_up_token(d, &reason) : -1;
        known = found >= 0;
        d->stored = found > 0;
        text_free(&reason);
        if (!known) text_puts(why, "; it is unknown whether the last templates were stored");
    }
    if (unknown) *unknown = !known;
    return d->stored;
}

int database_keep_decoders(pq *c, const store_model *model, int models, const char *names, text *why) {
    for (int i = 0; i < models; i++) {
        const pq_argument arguments[] = {{model[i].fingerprint, -1}, {names, -1}};
        if (!pq_do(c, "SELECT reid.add_decoders($1, string_to_array($2, ', '))", arguments, 2, why)) return 0;
    }
    return 1;
}

void database_rollback(database *d) {
    text unused = TEXT_INIT;
    if (d->open && !pq_lost(d->c)) pq_script(d->c, "ROLLBACK", &unused);
    d->open = 0;
    text_free(&unused);
}
