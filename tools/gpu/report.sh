# report.sh: writes a part's lines of JSON as one file, and report.json for all parts. It is written again after every
# part, so a part that was stopped keeps its results. Sourced by tools/gpu_check.
# shellcheck shell=sh disable=SC2154

# Asks for chip and versions once: nvidia-smi and nvcc may take a second each.
query_machine() {
    [ -z "${library-}" ] || return 0
    smi=''
    [ -n "$emulator" ] || smi=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null)
    smi=$(echo "$smi" | head -n 1)
    nvcc_version=$( (find_nvcc && "$nvcc" --version) 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
    library=$(sed -n 's/^.define REID_VERSION_STRING "\(.*\)"/\1/p' reid.h)
    chip=${smi%%,*}
}

head_of_json() { # date, machine, chip, driver, versions
    query_machine
    printf '{\n  "date": "%s",\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
    printf '  "machine": "%s, %s CPUs",\n' "$(uname -srm)" "$(nproc)"
    printf '  "chip": "%s",\n  "driver": "%s",\n' "${chip:-none}" "$(echo "${smi#*,}" | tr -d ' ')"
    printf '  "versions": {"reid": "%s", "nvcc": "%s", "cc": "%s"},\n' "$library" "$nvcc_version" \
        "$(${CC:-cc} -dumpfullversion 2>/dev/null)"
}

# Whole lines only: the last one of a part that was killed may be cut.
whole_lines() { grep '^{.*}$' "$1"; }

# array FILE: prints its lines with commas between them
array() { sed 's/^/    /; $!s/$/,/' "$1"; }

# group_of PART NAME: writes the part's lines of this group to group.part
group_of() { whole_lines "$out/$1.jsonl" | sed -n "s/^{\"in\": \"$2\", \"is\": \(.*\)}\$/\1/p" > "$out/group.part"; }

json_of_bench() { # bench, ab, tune
    head_of_json
    group_of "$1" driver
    printf '  "driver_start": %s' "$(tail -n 1 "$out/group.part" | grep . || echo '{}')"
    for group in modes starts cells latency without_wgmma without_pdl without_clusters tuned before after search \
        beside_fp16; do
        group_of "$1" $group
        name=$group
        case $group in modes | starts | cells | search | beside_fp16) ;; *) name=cells_$group ;; esac
        printf ',\n  "%s": [\n' $name
        array "$out/group.part"
        printf '  ]'
    done
    printf '\n}\n'
    rm -f "$out/group.part"
}

json_of_ceilings() {
    head_of_json
    printf '  "ceilings": {\n'
    whole_lines "$out/ceilings.jsonl" | sed -n 's/^{"name": \("[^"]*"\), \(.*\)}$/    \1: {\2}/p' | sed '$!s/$/,/'
    printf '  }\n}\n'
}

json_of_checks() { # correct, modes, prepare, rows
    head_of_json
    printf '  "checks": [\n'
    whole_lines "$out/$1.jsonl" > "$out/group.part"
    array "$out/group.part"
    printf '  ],\n  "failures": %d\n}\n' "$(grep -c '"ok": false' "$out/group.part")"
    rm -f "$out/group.part"
}

json_of_bisect() {
    head_of_json
    printf '  "cases": [\n'
    whole_lines "$out/bisect.jsonl" > "$out/group.part"
    array "$out/group.part"
    printf '  ],\n  "failures": %d\n}\n' "$(grep -vc '"status": "ok"' "$out/group.part")"
    rm -f "$out/group.part"
}

# assemble PART: PART.json from PART.jsonl
assemble() {
    [ -s "$out/$1.jsonl" ] || return 0
    case $1 in
    bench | ab | tune) json_of_bench "$1" ;;
    ceilings) json_of_ceilings ;;
    bisect) json_of_bisect ;;
    correct | modes | prepare | rows) json_of_checks "$1" ;;
    *) return 0 ;; # families and peers write their own
    esac > "$out/json.part"
    mv "$out/json.part" "$out/$1.json"
}

# report PART...: writes report.json from the results of the parts
report() {
    head_of_json
    printf '  "emulator": %s,\n' "$([ -n "$emulator" ] && echo true || echo false)"
    printf '  "hung": [%s],\n  "parts": {\n' "$( [ ! -s "$out/hung" ] || sed 's/.*/"&"/' "$out/hung" | paste -sd , -)"
    separator=''
    for part; do
        [ -s "$out/$part.status" ] || continue
        result='null'
        [ ! -s "$out/$part.json" ] || result=$(cat "$out/$part.json")
        printf '%s    "%s": {"status": "%s", "seconds": %s, "result": %s}' "$separator" "$part" \
            "$(cut -d ' ' -f 1 "$out/$part.status")" "$(cut -d ' ' -f 2 "$out/$part.status")" "$result"
        separator=",
"
    done
    printf '\n  }\n}\n'
}
