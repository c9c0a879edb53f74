/* Code shared by reid cluster and reid review: crops, groups, and the options for both. */
#ifndef REID_TOOLS_GROUPING_H
#define REID_TOOLS_GROUPING_H

#include "commands/requests.h"
#include "groups/clusters.h"
#include "groups/earlier.h"
#include "groups/unlabelled.h"
#include "journal/decisions.h"
#include "pictures/inputs.h"
#include "scores/calibration_file.h"

typedef struct grouping {
    const options *o;
    const char *who; /* messages begin with it */
    crops crops;
    calibration calibration; /* of --calibration, or made without labels */
    double weights[MAX_MODELS];
    decisions decided; /* as of when the groups were made */
    decision_state state;
    earlier earlier;
    inputs boxes;      /* of --boxes, in the order of the file; else those that the files of embeddings know */
    const input **box; /* [crops] the box of each crop or NULL; NULL if no box is known */
    int made;          /* no threshold was known: the calibration was made without labels, which was reported */
    int guessed;       /* nor could one be made: the cut is a guess, which was reported */
    uint32_t *frames, *tracks, *known;
    clusters_request request;
    clusters found;
} grouping;

/* Names of files in a folder of reid track other than the embeddings; the options point to them. */
typedef struct folder_names {
    text calibration, decisions;
} folder_names;

/* If the first operand is such a folder, fills in options that were not given: its calibration.json and
   decisions.jsonl. With `writes` the latter need not exist yet. Returns 0 after reporting that memory ran out. */
int folder_complete(options *o, folder_names *names, int writes);
void folder_names_free(folder_names *names);

/* Reads the crops of these files and what is known of them. Returns 0 after saying what is wrong; free it in either
   case. */
int grouping_open(grouping *run, const options *o, char *const *paths, int files, const char *who);
/* Makes run->calibration without labels, if the verdict is good. Returns 0 after reporting that memory ran out, or
   without a message when interrupted(). */
int grouping_learn(grouping *run, unlabelled *u);
/* The calibration in use; NULL: there is none. */
const calibration *grouping_calibration(const grouping *run);

/* Groups the crops of these files. Returns 0 after saying what is wrong, or without a message when
   interrupted(). Free it in either case. */
int grouping_make(grouping *run, const options *o, char *const *paths, int files, const char *who);
/* The boxes that show crops which have no file of their own in the folder of --pictures, or of reid track. Returns 0
   after reporting that memory ran out. */
int grouping_pictures(const grouping *run, inputs *list);
/* That folder; NULL: the working directory. */
const char *grouping_folder(const options *o);
void grouping_free(grouping *run);

#endif
