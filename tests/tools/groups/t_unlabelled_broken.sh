#!/bin/sh
# t_unlabelled_broken.sh: plants bugs in what leads from photos to individuals, one at a time, in a copy of a file that
# is linked into a command of its own: calibration without labels, bursts, zones, photos and cameras on pages.
# t_cli_unlabelled or the test that is named must fail.
#
#   sh tests/tools/groups/t_unlabelled_broken.sh    a share of the bugs; of the others, that their pattern matches
#   REID_ALL=1 sh tests/tools/groups/t_unlabelled_broken.sh [WORD]    all, or those whose description holds WORD
#
# It assumes that the tests pass without a bug, which tests/run checks.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/check.sh
unset REID_WRITE # messages of a command with a bug must not become expected ones
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$dir/tmp"
word=${1-} limit=300 log=$dir/log

# notices TEST: whether the test fails; it is stopped after its first failure
notices() {
    REID=$dir/reid TMPDIR=$dir/tmp timeout $limit sh "$(find tests/tools -name "$1.sh")" >"$log" 2>&1 &
    while kill -0 $! 2>/dev/null; do
        ! grep -q '^FAILED' "$log" || kill $! 2>/dev/null
        sleep 0.1
    done
    wait $!
    grep -q '^FAILED' "$log"
}

# bug DESCRIPTION FILE SED_SCRIPT [TEST]
bug() {
    case $1 in *"$word"*) ;; *) return ;; esac
    what=$1 file=tools/$2 test_name=${4-t_cli_unlabelled}
    plant_in "$file" "$dir/$file" "$3" || { bad "$what: the pattern matches nothing in $file"; return; }
    my_turn || return
    command_with "$dir/$file" "$file" "$dir/reid" >"$log" 2>&1 || { bad "$what: does not compile"; return; }
    if notices "$test_name"; then
        good
        echo "caught: $what: $(grep -m 1 '^FAILED' "$log" | cut -c 1-120)"
    else bad "$what: $test_name does not notice"; fi
}

bug 'pairs within a track take part' groups/unlabelled.c \
    's/number \&\& \*number != UINT32_MAX ? \*number :/number \&\& 0 ? *number :/'
bug 'one mean for the scores of all pairs' scores/mixture.c 's/if (x < p->different) return 0;/return 0;/'
bug 'the quantile of the same pairs' scores/mixture.c 's/place_with_above(m, fmr, 0)/place_with_above(m, fmr, 1)/'
bug 'the false-match rate is not heeded' groups/unlabelled.c 's/r->scale, r->fmr, r->draws}/r->scale, 0.01, r->draws}/'
bug 'cameras are no kinds' groups/unlabelled.c 's/p->kind = l->at\[a\].camera != l->at\[b\].camera;/p->kind = 0;/'
bug 'shared frames are forgotten' groups/unlabelled.c 's/if (!r->tracks || !r->apart_count) return 1;/return 1;/'
bug 'one instant at one camera counts as well' groups/unlabelled.c \
    's/(!cameras || l->at\[a\].camera != l->at\[b\].camera)/1/'
bug 'names of people are forgotten' groups/unlabelled.c 's/if (by_name(\&named\[i\], \&named\[i - 1\]) == 0)/if (0)/'
bug 'one burst is enough' groups/unlabelled.c 's/if (one_burst(l) ||/if (((void)one_burst, 0) ||/'
bug 'one individual passes' groups/unlabelled.c 's/u->fit.gain < LEAST_GAIN \* u->fit.parts/u->fit.gain < -1/'
bug 'blind scores pass' groups/unlabelled.c 's/< LEAST_DISTANCE \* bulk.deviation/< -1/'
bug 'different pairs that look less alike pass' groups/unlabelled.c 's/bulk.mean - MOST_BELOW \* bulk.deviation/-9/'
bug 'too few pass' groups/unlabelled.c \
    's/LEAST_SIGHTINGS = 20/LEAST_SIGHTINGS = 2/; s/LEAST_PAIRS = 100/LEAST_PAIRS = 1/'
bug 'no times are none' groups/unlabelled.c 's/if (!cameras) l->u->verdict = UNLABELLED_NO_TIMES;/(void)cameras;/'
bug 'answers are not heeded' commands/grouping.c 's/o->cluster.decisions ? \&run->state : NULL,/NULL,/'
bug 'the shares of two models are not heeded' commands/grouping.c \
    's/else decision_weights(run->weights, \(.*\), o->match.weight_count);/else decision_weights(run->weights, \1, 0);/'
# --- bursts ---
bug 'people are asked about bursts' commands/counting.c 's/r->tracks = c->bursts.tracks;/r->tracks = run->tracks;/' \
    t_cli_count
bug 'two crops of a photo are one track' groups/bursts.c 's/if (share_a_photo(f, at, count)) return 0;//' t_cli_count
bug 'a burst never ends' groups/bursts.c 's/> 1000LL \* BURST_SECONDS/> 1000000LL * BURST_SECONDS/' t_cli_count
# --- zones ---
bug 'several zones of a camera are not said' pictures/photo_zones.c \
    's/if (own.count > 1) tell_camera(c, \&own);/if (0) {}/' t_track_photos
bug 'several zones of cameras are not said' pictures/photo_zones.c 's/if (cameras.count > 1)/if (0)/' t_track_photos
bug 'times of photos are moved by their zones' pictures/photos.c \
    's/is->when = when, is->zone = zone,/is->when = when - zone * 60000LL, is->zone = zone,/' t_track_photos
# --- photos and cameras on the page of match ---
bug 'a match is named by the id of its crop' report/match_page.c \
    's/if (m->caption) fill_one/if (0) fill_one/' t_cli_match
say_left_out 'planted bugs'
finish
