#!/bin/sh
# t_hardening_broken.sh: removes protections against attacks from the command, its galleries and its decoders, one at a
# time, in a copy of one file; the named test must fail. tests/README.md has the table of them.
#
#   sh tests/tools/t_hardening_broken.sh               a share of them; of the others, that their pattern matches
#   REID_ALL=1 sh tests/tools/t_hardening_broken.sh [WORD]     all, or those whose description holds WORD
#
# It assumes that the tests pass with everything in place, which tests/run checks.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/check.sh
unset REID_WRITE # messages of a command with a bug must not become expected ones
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$dir/tmp"
export TMPDIR="$dir/tmp" # a test that is stopped does not clean up
word=${1-} limit=300 log=$dir/log top=$dir/top

# compile_line TEST: the sources and options in its head; a planted file replaces its original
compile_line() {
    # shellcheck disable=SC2046 # several words, and patterns of files
    echo $(sed -n '/^ *cc -std/,/\*\//{s/\*\/.*//;p;}' "$(find tests/tools -name "$1.c")") |
        sed "s|^ *cc ||; s|-o *[^ ]*||; s|-O[0-9]||; s|-I\. |-I. -I$top/tools |; s| $file | $top/$file |"
}

# in_program TEST CASE
in_program() {
    cat > "$dir/only.c" << END
void cmocka_set_test_filter(const char *name);
__attribute__((constructor)) static void only(void) { cmocka_set_test_filter("$2"); }
END
    # shellcheck disable=SC2046 # several words
    cc -O0 -w "$dir/only.c" $(compile_line "$1") -o "$dir/test" > "$log" 2>&1 || { bad "$1 does not compile"; return; }
    CMOCKA_TEST_ABORT=1 stdbuf -o L timeout $limit "$dir/test" > "$log" 2>&1
}

# in_script TEST: with a folder like the repository's, in which the planted file is
in_script() {
    for entry in reid.h Makefile tests models tools tools/pictures; do
        [ -d "$top/$entry" ] || ln -s "$PWD/$entry" "$top/$entry" 2> /dev/null
        [ -L "$top/$entry" ] || ln -s "$PWD/$entry"/* "$top/$entry/" 2> /dev/null
    done
    timeout $limit sh "$(find "$top/tests/tools" -name "$1.sh")" > "$log" 2>&1
}

# with_command TEST: it need not go on after its first failure
with_command() {
    command_with "$top/$file" "$file" "$dir/reid" > "$log" 2>&1 || { bad "$file does not compile"; return; }
    REID=$dir/reid timeout $limit sh "$(find tests/tools -name "$1.sh")" > "$log" 2>&1 &
    while kill -0 $! 2> /dev/null; do
        ! grep -q '^FAILED' "$log" || kill $! 2> /dev/null
        sleep 0.1
    done
    wait $!
    ! grep -q '^FAILED' "$log"
}

# bug DESCRIPTION FILE TEST[:CASE] SED_SCRIPT: the test fails at something; a hang counts as failing
bug() {
    case $1 in *"$word"*) ;; *) return ;; esac
    what=$1 file=$2 test=$3
    rm -rf "$top" "$log"
    plant_in "$file" "$top/$file" "$4" || { bad "$what: the pattern matches nothing in $file"; return; }
    my_turn || return
    case $test in
    *:*) in_program "${test%:*}" "${test#*:}" ;;
    t_cli_*) with_command "$test" ;;
    *) in_script "$test" ;;
    esac
    if [ $? -ne 0 ]; then
        good
        echo "$test catches: $what: $(grep -m 1 -E '^FAIL|^ERROR|error: ' "$log" | cut -c 1-150)"
    else bad "$what: $test does not notice"; fi
}

# --- pictures ---
bug 'the pixels of a PPM are not counted' tools/pictures/pnm.c t_picture:test_pnm_refusals \
    's/if (row == 0 || left \/ row < (size_t)h->height) return 0;/if (row == 0) return 0;/'
bug '16-bit samples are taken for 8-bit ones' tools/pictures/pnm.c t_picture:test_pnm_pixels \
    's/h->most == 255 ? \*sample : narrowed(sample, h->bytes, h->most)/*sample/'
bug '16-bit samples have their low byte first' tools/pictures/pnm.c t_picture:test_pnm_pixels \
    's/at\[0\] << 8 | at\[1\]/at[1] << 8 | at[0]/'
bug 'comments end at newlines alone' tools/pictures/pnm.c t_picture:test_pnm_refusals \
    "s/file\[at\] == '\\\\n' || file\[at\] == '\\\\r'/file[at] == '\\\\n'/"
bug 'all decoders of stb_image are there' tools/pictures/stb_image_config.h t_decoders '/define STBI_ONLY/d'
bug 'sums in stb_image do not wrap' Makefile t_decoders 's/-fwrapv//'
bug 'three bytes make a JPEG' tools/pictures/picture_facts.c t_picture:test_jpeg_by_another_name \
    's/{2, "\\xFF\\xD8", PICTURE_JPEG, read_jpeg/{3, "\\xFF\\xD8\\xFF", PICTURE_JPEG, read_jpeg/'
bug 'a JPEG without its tables is decoded' tools/pictures/jpeg.c t_picture:test_jpeg_structure \
    's/if (!is_defined) return/if (0) return/'
bug 'pixels are read behind the end of a TGA' tools/pictures/tga.c t_picture:test_short_tga \
    's/if (bytes > len - at) return 0;//'
bug 'a short table of colours stays short' tools/pictures/png_palette.c t_picture:test_png_palette \
    's/size < 3 \* COLOURS/0/'
bug 'stb_image gets JPEG files of other colours' tools/pictures/jpeg.c t_picture:test_jpeg_colours \
    's/named_rgb \&\& (is->is_jfif/0 \&\& (is->is_jfif/'
bug 'what a decoder holds has no limit' tools/pictures/picture.c t_picture:test_bomb \
    's/p->budget = need + need \/ 2;/p->budget = (size_t)1 << 40;/'
bug '16-bit PNG files are counted as 8-bit ones' tools/pictures/decoder_memory.c t_picture:test_needs_are_told \
    's/bytes = bits == 16 ? 2 : 1;/bytes = 1;/'
bug 'the coefficients of progressive JPEG files are not counted' tools/pictures/decoder_memory.c \
    t_picture:test_needs_are_told 's/copies = f->progressive ? 3 : 1;/copies = 1;/'
bug 'pictures that need too much are decoded' tools/pictures/picture.c t_picture:test_needs_are_told \
    's/if (p->cost > limits->bytes)/if (0)/'
bug 'each decoder may read a file as large as half of the memory' tools/pictures/picture.c t_picture:test_limits \
    's/(size_t)bytes \/ 2 \/ (size_t)threads/(size_t)bytes \/ 2/'
bug 'scans are not counted' tools/pictures/jpeg.c t_picture:test_jpeg_scans \
    's/if (++t->scans > most_scans(f)) return/if (0) return/'
bug 'a hundred bytes make a JPEG of any size' tools/pictures/jpeg.c t_picture:test_short_jpeg \
    's/return is_too_short(&out->frame, len) ?/return 0 ?/'
bug 'images are decoded without waiting for room' tools/embedding/pipeline.c t_cli_inputs \
    's/is->number != p->taken \&\& p->bytes + bytes > p->budget/0/'
bug 'entries of a TIFF may name more bytes than it has' tools/pictures/tiff.c \
    t_picture:test_tiff_directory \
    's/return bytes <= len \&\& parts_of/return parts_of/'
# --- galleries ---
bug 'an end mark that did not reach the disk stays' tools/gallery/store_append.c t_gallery_faults:test_errors \
    's/if (s->failed) undo_mark(s);//'
bug 'records are cut off that an end mark may name' tools/gallery/store_append.c t_gallery_faults:test_errors \
    's/s->keep_tail = !store_write_mark/s->keep_tail = 0 * store_write_mark/'
bug 'an interrupted fsync is a failure' tools/base/interrupted.h t_gallery_faults:test_errors \
    's/while ((result) < 0 \&\& errno == EINTR/while (0 \&\& errno == EINTR/'
bug 'an interruption without end is waited for' tools/base/interrupted.h t_output_faults:test_interrupted \
    's/ \&\& left_-- > 0//'
bug 'FILE.part of another program is replaced' tools/embedding/output.c t_output_faults:test_other_parts \
    's/is_left_over(part.s, log.s, \&out->why) \&\&//'
bug 'the old files are not brought back' tools/base/files.c t_output_faults:test_npy \
    's/if (!good \&\& list\[i\]->temp) take_back.*/if (!good) continue;/'
bug 'a failure has no reason' tools/gallery/store_file.c t_gallery_faults:test_errors \
    's/return file_sync(fd) || store_fail_errno(why, .*);/return file_sync(fd);/'
bug 'the mark is written before the records' tools/gallery/store_append.c t_gallery_faults:test_kills \
    's/^    if (!flush(s, why)) return 0;/    if (!store_write_mark(s->fd, s->sequence + 1, \
    s->tail + s->pending_len, s->tail_records, why) || !flush(s, why)) return 0;/'
bug 'a compacted gallery has the mode of a new file' tools/base/files.c t_gallery_faults:test_modes \
    's/mode = old.st_mode \& 0777;/;/'
bug 'others read a gallery that is being compacted' tools/base/files.c t_gallery_faults:test_modes \
    's/O_NOFOLLOW, 0600)/O_NOFOLLOW, 0666)/'
bug 'a new gallery replaces one that another program has made in the meantime' tools/gallery/store_rewrite.c \
    t_gallery_store:test_refused_arguments \
    's/return finish(d, pending_rename_new, why);/return finish(d, pending_rename, why);/'
bug 'one copy of the header is all' tools/gallery/store_head.c t_gallery_store:test_salvage_without_head \
    's/i < 2 \&\& !found/i < 1 \&\& !found/'
bug 'headers among the records are not looked for' tools/gallery/store_head.c \
    t_gallery_store:test_salvage_without_head 's/\(place = HEADER_RECORD\); !found;/\1; 0;/'
bug 'a large gallery does not say again what it is' tools/gallery/store_append.c \
    t_gallery_store:test_salvage_records_alone 's/s->tail + s->pending_len >= s->next_header/0/'
bug 'end marks that are damaged end a salvage' tools/gallery/store_head.c t_gallery_store:test_salvage \
    's/^    if (salvage) { .*/    if (0) {/'
# --- outputs ---
bug 'rows that have their final name are not found again' tools/embedding/output.c t_output_faults:test_npy \
    's/if (data_size == 0 \&\& size \&\& adopt_renamed/if (0 \&\& adopt_renamed/'
bug 'a run of which rows have their final name cannot go on' tools/embedding/output.c t_output_faults:test_npy \
    's/if (data_size == 0 \&\& size \&\& adopt_renamed/if (0 \&\& adopt_renamed/
    s/if (data_size < prologue) return 0;/if (data_size < prologue) return out->broken = 1;/'
bug 'an interrupted rename is a failure' tools/base/interrupted.h t_output_faults:test_npy \
    's/while ((result) < 0 \&\& errno == EINTR/while (0 \&\& errno == EINTR/'
bug 'another user'"'"'s file is continued' tools/base/files.c t_output_faults:test_taken_names \
    's/else if (keep \&\& st.st_uid != geteuid())/else if (0)/'
bug 'a torn first line of the log is another run' tools/embedding/output.c t_output_faults:test_torn_log \
    "s/log.len \&\& memchr(log.s, '\\\\n', log.len);/log.len;/"
bug 'a temporary file that is there is written to' tools/base/files.c t_output_faults:test_taken_names \
    's/old == NOT_THERE || (old >= 0 \&\& !keep)) p->fd = open_new/old == NOT_THERE) p->fd = open_new/'
bug 'links are followed' tools/base/files.c t_output_faults:test_taken_names \
    's/O_NOFOLLOW | O_NONBLOCK/O_NONBLOCK/; s/ \&\& lstat(name, \&b)/ \&\& stat(name, \&b)/'
bug 'a second name of a file is continued' tools/base/files.c t_output_faults:test_taken_names \
    's/else if (keep \&\& st.st_nlink != 1)/else if (0)/'
bug 'what others may write to is continued' tools/base/files.c t_output_faults:test_taken_names \
    's/else if (keep \&\& st.st_mode \& 022)/else if (0)/'
bug 'the mode of a file that is replaced is forgotten' tools/base/files.c t_output_faults:test_modes \
    's/mode = old.st_mode \& 0777;/;/'
bug 'others read what is being written' tools/base/files.c t_output_faults:test_modes \
    's/O_NOFOLLOW, 0600)/O_NOFOLLOW, 0666)/'
# --- what is replaced ---
bug 'files of any kind are replaced' tools/base/replace.c t_cli_replace \
    's/\&\& !forced \&\& !is_of_kind/\&\& 0 \&\& !is_of_kind/'
bug 'an input may be an output' tools/base/replace.c t_cli_replace 's/if (replace_is_input(path)) return/if (0) return/'
bug 'two outputs may have one name' tools/base/replace.c t_cli_replace \
    's/if (strcmp(claims\[i\].name, name) != 0) continue;/continue;/'
bug 'side files of an output are not looked at' tools/embedding/output_kinds.c t_cli_replace \
    's/access(log.s, F_OK) == 0/1/'
bug 'any file without a line end is a torn journal' tools/journal/decisions.c t_cli_replace \
    's/\&\& !may_be_torn(\&bytes)/\&\& 0/'
# --- what models/get fetches ---
bug 'eight digits of a hash are enough' models/get t_models 's/0-9a-f\]\\{64\\}/0-9a-f]\\{8,64\\}/'
bug 'a name in a manifest may lead elsewhere' models/get t_models \
    's/\[A-Za-z0-9_\]\[A-Za-z0-9._-\]\*/[A-Za-z0-9._\/-]*/'
bug 'the hash of another file is one' models/get t_models \
    's/wanted=${file#\*=}/wanted=$(files "$manifest" | sed "s|.*=||" | tail -n 1)/'
bug 'a hash that is not published is not recorded' models/get t_models 's/^        record$/        true/'
bug 'a recorded hash is not compared' models/get t_models 's/^    wanted=$(sed -n .*/    wanted=/'
bug 'an error page is recorded as the model' models/get t_models \
    's/^            fail "reid convert failed on/            record; fail "reid convert failed on/'
bug 'https may be left' models/get t_models 's/--proto "=$only" --proto-redir "=$only"//'
bug 'a part that is a link is written to' models/get t_models 's/^    \[ ! -L "$part" \] .*/    true/'
# --- configurations next to weights ---
bug 'a base may be any file' tools/weights/yacs.c t_fastreid_config:test_bases \
    's/if (!path_has_ending(base, ".yml")/if (0 \&\& !path_has_ending(base, ".yml")/'
bug 'maps in YAML may be nested without end' tools/base/yaml.c t_yaml:test_limits \
    's/if (depth > YAML_DEPTH)/if (0)/'
# --- what files state about their embeddings ---
bug 'rows of another length are taken, because the fingerprint is ours' tools/gallery/makers.c t_cli_foreign \
    's/if (!theirs->dim || /if (1 || /'
bug 'a file names more models than there is room for' tools/gallery/gallery_file.c t_cli_foreign \
    's/json_fail(j, "more models than can be used together (2)");/json_skip(j), to->models++;/'
bug 'the third dimension of a .npy file is ignored' tools/embedding/npy.c t_cli_foreign 's/== 2 \&\& whole;/== 2;/'
bug 'rows of another model are taken for those of an imported one' tools/gallery/makers.c t_cli_import \
    's/const int differ = .*/const int differ = 0;/'
bug 'a foreign array is larger than its file' tools/embedding/foreign_rows.c t_cli_import \
    's/bytes != end - start/bytes == 1/'
bug 'the checksum in an .npz file is not compared' tools/embedding/foreign_npy.c t_cli_import \
    's/return crc == m->crc ||/return 1 ||/'
bug 'a row of another length in .fvecs is read' tools/embedding/foreign_rows.c t_cli_import \
    's/if (f->prefixed \&\& /if (0 \&\& /'
# --- what files name for others to open ---
bug 'ffmpeg opens playlists' tools/pictures/ffmpeg.c t_cli_track 's/"-format_whitelist", CONTAINERS, //'
bug 'boxes of images outside the folder are read' tools/pictures/boxes.c t_cli_boxes \
    's/join(b->root, name + strspn(name, "\/"), &to->root_len)/mem_copy(name, strlen(name))/'
# --- clients of reid serve ---
bug 'reading earns no time' tools/server/http.c t_cli_serve 's/if (at) earn_time(o->to, n);//'
bug 'unread answers have no limit' tools/server/http.c t_cli_serve \
    's/^    limit_unsent(h, r);/    (void)limit_unsent;/'
bug 'received bodies have no limit' tools/server/http.c t_cli_serve 's/if (x->received > SMALL \&\& /if (0 \&\& /'
bug 'idle clients stay connected' tools/server/mhd.c t_cli_serve 's/if (c->count >= c->most) shut_down_first(c);//'
bug 'pages of other sites may send requests' tools/server/http.c t_cli_serve \
    's/ \&\& is_of_foreign_page(from))/ \&\& 0 * is_of_foreign_page(from))/'
bug 'a server without free descriptors accepts without a pause' tools/server/http.c t_cli_serve \
    's/^    epoll_ctl(h->epoll, EPOLL_CTL_DEL, d->fd, \&unused);//'
bug 'the only client is disconnected because another one could come' tools/server/http.c t_cli_serve \
    's/lacks_files(error) \&\& is_waiting(d->fd)/lacks_files(error)/'
bug 'a form may have any number of parts' tools/server/form.c t_server_form:test_too_many \
    's/if (f->count == p->most)/if (0)/'
bug 'what begins like a delimiter is one' tools/server/form.c t_server_form:test_right_ones \
    's/if (follows(p, end, .*)) return at;/return at;/'
bug 'a form need not end' tools/server/form.c t_server_form:test_refused \
    's/if (end == SIZE_MAX) return fail.*/if (end == SIZE_MAX) return 1;/'
bug 'a name is given twice' tools/server/form.c t_server_form:test_refused 's/else if (\*found) good = 0;//'
bug 'a body in chunks may be of any size' tools/server/http.c t_cli_serve \
    's/if (x->chunked \&\& x->received > x->promised)/if (0)/'
bug 'others may write the token' tools/server/secret_file.c t_cli_serve_settings \
    's/return !(mode \& /return 1 || !(mode \& /'
bug 'the first characters of a token are enough' tools/server/door.c t_cli_serve_reload \
    's/differs = len != secret->len;/differs = 0;/'
bug 'a misspelt variable is ignored' tools/cli/settings.c t_cli_serve_settings \
    's/good = unknown_variable(c, \*at, len, prefix.len);/good = 1;/'
bug 'models are closed while requests use them' tools/server/keeper.c t_cli_serve_models \
    's/if (service_jobs(o->s)) {/if (0) {/'
bug 'all clients may unload models' tools/server/http.c t_cli_serve_models 's/ \&\& !may_change_models(from)/ \&\& 0/'
bug 'each model may use all of --memory' tools/server/keeper.c t_server_calls:idle_models_make_room \
    's/used < most ? most - used : 0/most/'
bug 'each of the first requests opens the model' tools/server/keeper.c t_server_calls:first_requests_open_once \
    's/if (k->now->model\[c->index\]) call_again(c);/if (0) call_again(c);/'
bug 'a model that cannot be loaded is said to be loaded' tools/server/keeper.c t_cli_serve_models \
    's/lacks_memory(result) ? STATUS_NO_ROOM : STATUS_BAD/STATUS_OK/'
bug 'the configuration that a client sends is dropped in silence' tools/server/repository.c t_cli_serve_models \
    's/strcmp(parameter, "config") == 0 ||//'
bug 'shared memory is ignored' tools/server/request.c t_server_request:test_refused \
    's/if (strncmp(name, "shared_memory", 13) == 0)/if (0)/'
bug 'the log waits for its reader' tools/server/access_log.c t_cli_serve_log \
    's/before + l->line.len <= MOST_WAITING/1/'
# --- texts ---
bug 'messages are not escaped' tools/base/say.c t_text:test_messages \
    's/plain = \*s == .*, n = visible/plain = 1, n = visible/'
bug 'the direction of writing can be turned' tools/base/text.c t_text:test_escapes \
    's/(code >= 0x2028 \&\& code <= 0x202E)/0/'
bug 'cells may be formulas' tools/base/text.c t_text:test_csv \
    's/    return \*first \&\& strchr.*/    return 0 * *first;/'
bug 'a long list of values is cut off' tools/cli/help.c t_cli_help \
    's/add_values(t, spec->arg ? spec->arg : "",/add_values(t, spec->arg ? "auto|avx512|avx512_bf16" : "",/'
say_left_out 'pieces'
finish
