# pages.sh: functions of t_readme.sh and t_links.sh for pages, the *.md files. Sourced from the top of the repository.
# shellcheck disable=SC2034 # what is set here is read by the tests

# t_readme.sh runs the blocks of these pages, one page after another in one folder: a page may use the files of those
# before it.
pages_run='README.md tools/scores/README.md tools/embedding/README.md tools/groups/README.md tools/heads/README.md
    tools/gallery/README.md tools/server/README.md tools/machine/README.md tools/weights/README.md
    tools/pictures/README.md tools/tracks/README.md tools/gpu/README.md'
# Separate tests run the blocks of these: t_lesson.sh, python_tests.py and t_camera_traps.sh.
pages_run_elsewhere='examples/README.md examples/python/README.md examples/camera_traps/README.md'

all_pages() { git ls-files '*.md' 2> /dev/null | grep . || find . -name '*.md' ! -path './build/*' | sed 's|^\./||'; }

# blocks LANGUAGE FILE: the fenced blocks of one language, except those after a line "<!-- not run: WHY -->".
blocks() {
    awk -v open="\`\`\`$1" '$0 == open && last !~ /^<!-- not run: / { on = 1; next } $0 == "```" { on = 0 } on
        { last = $0 }' "$2"
}
