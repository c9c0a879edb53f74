/* reid review: a page on which people decide who is the same, and the journal of their decisions. */
#include "base/files.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "base/threads.h"
#include "commands/commands.h"
#include "commands/counting.h"
#include "commands/review_server.h"
#include "gallery/gallery_file.h"
#include "groups/census_estimate.h"
#include "journal/decisions_import.h"
#include "review/single.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_THREADS = 4 };
static const size_t CACHE = (size_t)64 << 20, MOST_PAGE = (size_t)256 << 20, MOST_PHOTOS = (size_t)64 << 20;

/* The state of the command. */
typedef struct review {
    const options *o;
    grouping groups;
    char models[MAX_MODELS][33];
    reid_desc search;     /* of `how` */
    clusters_request how; /* how groups are made again */
    inputs pictures;      /* boxes of crops that have no file of their own */
    captions captions;
    board *board;
    album *album;
} review;

static int check_options(const options *o) {
    if (!o->cluster.decisions) say_error("review: no journal for decisions: give --decisions FILE");
    else if (o->review.import && (o->operand_count || o->review.html || o->serve.listen))
        say_error("review: --import only adds a file to --decisions: remove the inputs, --html and --listen");
    else if (o->review.by_whom &&
             decision_words_fault(o->review.by_whom)) /* else no decision could be stored or read back */
        say_error("review: --by: the name %s", decision_words_fault(o->review.by_whom));
    else if (!o->review.import && !o->operand_count) say_error("review: no INPUT; see \"reid help review\"");
    else if (o->review.html && o->serve.listen)
        say_error("review: --html needs no server: remove --listen");
    else if (!o->review.html && !o->review.import && !review_server_is_there()) return 0;
    else return counting_options(o, "review");
    return 0;
}

/* --- groups and questions ----------------------------------------------------------------------------------------- */

/* The default name of the person who decides. A page of --html can be passed on, so it does not get the author's. */
static const char *who(const options *o) {
    const struct passwd *user = o->review.by_whom || o->review.html ? NULL : getpwuid(geteuid());
    if (o->review.by_whom || o->review.html) return o->review.by_whom ? o->review.by_whom : "";
    return user && *user->pw_name ? user->pw_name : "unknown";
}

/* Asks about the pairs of --count instead of the doubtful ones. */
static int ask_for_count(review *r) {
    counting c;
    clusters *found = &r->groups.found;
    doubtful_pair *questions = NULL;
    size_t count = 0;
    int good = counting_make(&c, &r->groups) && census_questions(&c.sample, &questions, &count);
    if (good) {
        free(found->doubtful);
        found->doubtful = questions, found->doubts = count;
    }
    counting_free(&c);
    return good;
}

/* The folder of reid track that has the crops; NULL: there is none. */
static const char *folder_of_tracks(const options *o) {
    const char *folder = grouping_folder(o);
    return folder && gallery_file_is_folder(folder) ? folder : NULL;
}

static int open_all(review *r) {
    const options *o = r->o;
    const clusters *found = &r->groups.found;
    if (!grouping_make(&r->groups, o, o->operands, o->operand_count, "review")) return 0;
    if (o->count.asked && !ask_for_count(r)) return 0;
    const store_meta *makers = &r->groups.crops.makers;
    for (int i = 0; i < makers->models; i++) memcpy(r->models[i], makers->model[i].fingerprint, 33);
    r->search = model_desc(o, &o->every, NULL);
    r->how = r->groups.request, r->how.search = &r->search;
    const input *const *boxes = (const input *const *)r->groups.box;
    if (!captions_open(&r->captions, &r->groups.crops, boxes, folder_of_tracks(o))) return 0;
    const board_request b = {.groups = found,
                             .how = o->count.asked || o->review.html ? NULL : &r->how,
                             .carry = o->cluster.carry ? &r->groups.earlier : NULL,
                             .heeded = (long long)r->groups.decided.list.count,
                             .decisions = o->cluster.decisions,
                             .writes = !o->review.html,
                             .by = who(o),
                             .asks = o->review.html || !o->review.by_whom,
                             .captions = &r->captions,
                             .models = r->models,
                             .model_count = makers->models};
    r->board = board_open(&b);
    if (!r->board) return 0;
    if (!grouping_pictures(&r->groups, &r->pictures)) return 0;
    const album_request a = {.ids = found->ids,
                             .count = found->rows,
                             .folder = grouping_folder(o),
                             .boxes = &r->pictures,
                             .photos = boxes,
                             .max_pixels = o->input.max_pixels,
                             .cache = CACHE,
                             .threads = threads_for(0, MOST_THREADS)};
    r->album = album_open(&a);
    return r->album != NULL;
}

static void close_all(review *r) {
    board_close(r->board);
    album_close(r->album);
    captions_free(&r->captions);
    inputs_free(&r->pictures);
    grouping_free(&r->groups);
}

/* --- import ------------------------------------------------------------------------------------------------------- */

/* Reads all lines of --import into `from`. Returns 0 with the reason in why. */
static int read_import(decisions *from, const char *place, text *why) {
    text file = TEXT_INIT;
    if (is_database_url(place)) return decisions_open(from, place, 0, why);
    int good = file_read(place, (size_t)1 << 32, 1, &file, why) &&
               decision_list_read(&from->list, file.len ? file.s : "", file.len, why);
    text_free(&file);
    return good;
}

static int import(const options *o) {
    text why = TEXT_INIT;
    decisions from, to;
    import_result result;
    int status = 2;
    memset(&from, 0, sizeof from);
    memset(&to, 0, sizeof to);
    from.fd = to.fd = -1;
    if (!read_import(&from, o->review.import, &why)) say_error("%s: %s", shown(o->review.import), why.s);
    else if (!decisions_open(&to, o->cluster.decisions, 1, &why))
        say_error("%s: %s", shown(o->cluster.decisions), why.s);
    else if (decisions_import(&to, &from.list, &result, &why) <= 0)
        say_error("%s: %s; decisions before it that are now in %s: %zu", shown(o->review.import), why.s,
                  shown(o->cluster.decisions), result.added + result.known);
    else {
        say_warning("%zu decision%s added to %s, %zu already in it", result.added, plural(result.added),
                    shown(o->cluster.decisions), result.known);
        status = 0;
    }
    decisions_close(&to);
    decisions_close(&from);
    text_free(&why);
    return status;
}

int review_main(options *o) {
    review r;
    folder_names names;
    int status = 2;
    if (!folder_complete(o, &names, 1)) return 2;
    if (!check_options(o)) return folder_names_free(&names), 2;
    if (o->review.import) return import(o);
    memset(&r, 0, sizeof r);
    r.o = o;
    if (open_all(&r)) {
        const single_request single = {r.board, r.album, o->review.html, MOST_PAGE, MOST_PHOTOS};
        status = !o->review.html ? review_serve(r.board, r.album, o->serve.listen) : single_write(&single) ? 0 : 2;
    }
    close_all(&r);
    folder_names_free(&names);
    return status;
}
