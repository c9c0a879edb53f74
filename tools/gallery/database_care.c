#include "gallery/database_care.h"

#include "base/files.h"
#include "base/say.h"
#include "gallery/database_read.h"
#include "gallery/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int end(database *d, int good, const text *reason, char why[STORE_WHY]) {
    if (!good && !why[0])
        snprintf(why, STORE_WHY, "%s", interrupted() ? "interrupted" : reason->len ? reason->s : "cannot be read");
    database_close(d);
    return good;
}

/* Runs a statement without arguments that returns a number. Returns 0 with the reason in why. */
static int ask_number(database *d, const char *sql, uint64_t *out, text *why) {
    pq_result *r = pq_ask(database_connection(d), sql, NULL, 0, "1c?", why);
    *out = r ? (uint64_t)pq_number_at(r, 0, 0) : 0;
    pq_free(r);
    return r != NULL;
}

static int ask_bytes(database *d, uint64_t *out, text *why) {
    return ask_number(d, "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND "
                         "relnamespace = 'reid'::regnamespace", out, why);
}

/* --- verify ------------------------------------------------------------------------------------------------------- */

typedef struct verifying {
    store_damage_fn fn;
    void *user;
    store_report *report;
} verifying;

static int look_at(void *user, const store_item *item, const void *row, const char *damage, text *why) {
    verifying *v = user;
    (void)row, (void)why;
    v->report->records++;
    if (!damage) return 1;
    text t = TEXT_INIT;
    v->report->damaged++;
    text_printf(&t, "template %zu (\"%.70s\") is damaged: %s", v->report->records, shown(item->id), damage);
    v->fn(t.s, v->user);
    text_free(&t);
    return 1;
}

int database_verify(const char *url, store_damage_fn fn, void *user, store_report *report, store_meta *meta,
                    char why[STORE_WHY]) {
    text reason = TEXT_INIT;
    verifying v = {fn, user, report};
    memset(report, 0, sizeof *report);
    why[0] = 0;
    database *d = database_try(url, &reason);
    int good = d && pq_script(database_connection(d), "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", &reason) &&
               database_refresh(d, &reason) && database_each(d, READ_EVERYTHING, look_at, &v, &reason) &&
               ask_bytes(d, &report->bytes, &reason);
    report->templates = report->records - report->damaged;
    report->version = SCHEMA_VERSION;
    if (d && meta) *meta = *database_info(d);
    if (!good) report->damaged = 0; /* not everything was read; the reason is another one */
    if (good && report->damaged) {
        snprintf(why, STORE_WHY, "%zu damaged template%s", report->damaged, plural(report->damaged));
        good = 0;
    }
    good = end(d, good, &reason, why);
    text_free(&reason);
    return good;
}

/* --- compact ------------------------------------------------------------------------------------------------------ */

/* Takes the lock alone, because a writer may be about to use an identity that has no template now. */
static int delete_unused(database *d, text *why) {
    return pq_script(database_connection(d), "BEGIN; SELECT pg_advisory_xact_lock(1919248740, 1); "
        "DELETE FROM reid.identity i WHERE NOT EXISTS "
        "(SELECT FROM reid.template t WHERE t.identity_id = i.identity_id); "
        "DELETE FROM reid.stored WHERE at < now() - interval '1 day'; COMMIT", why);
}

static int vacuum(database *d, text *why) {
    pq_result *r = pq_ask(database_connection(d), "SELECT format('VACUUM (ANALYZE) reid.%I', relname) FROM pg_class "
        "WHERE relkind = 'r' AND relnamespace = 'reid'::regnamespace ORDER BY relname", NULL, 0, "*s", why);
    int good = r != NULL;
    for (size_t i = 0; good && i < pq_rows(r); i++)
        good = pq_script(database_connection(d), pq_text_at(r, i, 0), why);
    pq_free(r);
    return good;
}

int database_compact(const char *url, uint64_t bytes[2], size_t *templates, char why[STORE_WHY]) {
    text reason = TEXT_INIT;
    uint64_t count = 0;
    why[0] = 0;
    database *d = database_try(url, &reason);
    int good = d && ask_bytes(d, &bytes[0], &reason) && delete_unused(d, &reason) && vacuum(d, &reason) &&
               ask_bytes(d, &bytes[1], &reason) &&
               ask_number(d, "SELECT count(*) FROM reid.template", &count, &reason);
    *templates = (size_t)count;
    good = end(d, good, &reason, why);
    text_free(&reason);
    return good;
}
