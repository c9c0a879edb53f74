#!/bin/sh
# t_deploy.sh: examples/deploy with what is here: systemd-analyze, nginx -t, Kubernetes' schemas, an image if one can be
# built, the dashboard's metrics in a running server; what could not be tried is named.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/check.sh
. tests/lib/ready.sh
. tests/lib/python.sh
need_python venv_deploy kubernetes-validate==1.34.1 pyyaml==6.0.2
make -s build/reid build/seeded || exit 1
work=$(mktemp -d) || exit 1
log=$work/log server=
stop() { [ -z "$server" ] || kill -9 "$server" 2> /dev/null; rm -rf "$work"; }
trap stop EXIT
trap 'exit 1' HUP INT TERM
deploy=examples/deploy
check() { # check NAME COMMAND...
    name=$1
    shift
    if "$@" > "$log" 2>&1; then good; else bad "$name"; fi
}

# systemd: the command that is here in place of the installed one.
if command -v systemd-analyze > /dev/null; then
    cp $deploy/reid.service $deploy/reid.socket "$work/"
    sed -i "s|/usr/local/bin/reid|$PWD/build/reid|" "$work/reid.service"
    check 'systemd-analyze verify' systemd-analyze verify --man=no "$work/reid.service" "$work/reid.socket"
    [ ! -s "$log" ] && good || bad 'systemd-analyze verify has nothing to say'
    check 'systemd-analyze security below 2' systemd-analyze security --offline=yes --threshold=20 "$work/reid.service"
    sed '/^PrivateNetwork\|^Protect\|^Restrict\|^System\|^Capab\|^Private/d' "$work/reid.service" > "$work/open.service"
    if systemd-analyze security --offline=yes --threshold=20 "$work/open.service" > "$log" 2>&1
    then bad 'a unit that is not hardened is noticed'; else good; fi
else skip 'no systemd-analyze here: the units were not checked'
fi

# nginx
if (. tools/setup.sh && need_packages nginx:nginx-light) > "$log" 2>&1 && command -v openssl > /dev/null; then
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/reid.key" -out "$work/reid.pem" -days 2 -subj /CN=x \
        > "$log" 2>&1
    sed "s|/etc/ssl/|$work/|; s|/etc/nginx/reid|$work/reid|; s|listen 443|listen unix:$work/nginx.sock|
         s|/run/reid.sock|$work/reid.sock|" \
        $deploy/nginx.conf > "$work/site.conf"
    printf 'events {}\npid %s/pid;\nerror_log stderr;\nhttp { access_log off; include %s/site.conf; }\n' \
        "$work" "$work" > "$work/nginx.conf"
    check 'nginx -t' nginx -t -q -c "$work/nginx.conf"
    sed -i 's/proxy_next_upstream/proxy_next_upstrem/' "$work/site.conf"
    if nginx -t -q -c "$work/nginx.conf" > "$log" 2>&1; then bad 'nginx -t notices'; else good; fi
else skip 'no nginx here: nginx.conf was not checked'
fi

# Kubernetes' schemas; of the PodMonitor, which is not Kubernetes' own, only the form. Compose, Dockerfile: their files.
check 'manifests, compose and Dockerfile' "$python" tests/shown/deploy_check.py files $deploy
cat "$log"

# A container
tool=
for name in docker podman buildah; do
    command -v $name > /dev/null && $name info > /dev/null 2>&1 && tool=$name && break
done
if [ -n "$tool" ]; then
    check "$tool builds it" $tool build -f $deploy/Dockerfile -t reid-test .
else skip 'no docker, podman or buildah that works here: the image was not built; its make command was run'
fi
make_line=$(sed -n 's|^RUN make -C /src -j"$(nproc)" ||p' $deploy/Dockerfile)
[ -n "$make_line" ] && good || bad 'the make command of the Dockerfile'
mkdir "$work/src"
for source in $(sed -n 's/^COPY \([^-].*\) [^ ]*$/\1/p' $deploy/Dockerfile); do
    cp -R "$source" "$work/src/" || bad "the Dockerfile copies $source"
done
mkdir -p "$work/src/tests/emulator" && cp tests/emulator/emulator.mk "$work/src/tests/emulator/"
# shellcheck disable=SC2086 # several words
check 'what is copied is enough for make' make -s -C "$work/src" -n $make_line

# The dashboard's metrics, and the variables of the manifests, in a running server.
build/seeded --net efficientnet_b0 -o "$work/w.safetensors"
printf '0123456789abcdef\n' > "$work/token" && chmod 600 "$work/token"
REID_SERVE_MODEL="$work/w.safetensors" REID_SERVE_SIZE=32x32 REID_SERVE_TOKEN_FILE="$work/token" \
    REID_SERVE_LISTEN=127.0.0.1:0 REID_CACHE_DIR='' build/reid serve 2> "$work/said" &
server=$!
ready grep -q 'listening on' "$work/said"
check 'every metric of the dashboard exists' "$python" tests/shown/deploy_check.py metrics $deploy \
    "$(sed -n 's|.*http://||p' "$work/said")" 0123456789abcdef
cat "$log"
kill $server
server=
finish
