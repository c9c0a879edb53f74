# t_serve_tls.sh: TLS of reid serve with curl and openssl s_client: versions, chains, certificates that a reload
# replaces while connections go on, files that are refused, clients that do not speak TLS or are slow.
. tests/lib/cli_lib.sh
. "$repository/tests/lib/serve_lib.sh"
command -v openssl >/dev/null 2>&1 || { echo "no openssl here"; exit 77; }
command -v python3 >/dev/null 2>&1 || { echo "no python3 here"; exit 77; }
"$REID" serve -m x --listen 127.0.0.1:0 --tls-cert x --tls-key x 2>&1 | grep -q 'compiled without TLS' &&
    { echo "no TLS here"; exit 77; }

b0 b0.safetensors
picture a.png 90 70 3
"$REID" embed -q -m b0.safetensors --size 32x32 a.png -o a.npy
# An issuer, and certificates of it: cert NAME COMMON_NAME OPENSSL_OPTION...
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 9 -subj /CN=issuer 2>/dev/null
cert() {
    name=$1 who=$2
    shift 2
    openssl req -new -nodes -newkey "$@" -keyout "$name.key" -out "$name.csr" -subj "/CN=$who" 2>/dev/null
    printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\n' >"$name.ext"
    openssl x509 -req -in "$name.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 5 -extfile "$name.ext" \
        -out "$name.pem" 2>/dev/null
    chmod 600 "$name.key"
}
cert one first rsa:2048
cert two second ec -pkeyopt ec_paramgen_curve:P-256
cat one.pem ca.pem >server.pem && cat one.key >server.key && chmod 600 server.key
printf '0123456789abcdef\n' >token
chmod 600 token

# What is refused.
serves() { # serves PATTERN OPTION...
    pattern=$1
    shift
    run 2 serve -m lost.safetensors --listen 127.0.0.1:0 "$@"
    says "$pattern"
}
serves '--tls-cert and --tls-key need each other' --tls-cert server.pem
serves '--tls-cert and --tls-key need each other' --tls-key server.key
run 2 serve -m b0.safetensors --socket s --tls-cert server.pem --tls-key server.key
says '--tls-cert needs --listen'
serves 'lost.pem: cannot open' --tls-cert lost.pem --tls-key server.key
serves 'lost.key: cannot open' --tls-cert server.pem --tls-key lost.key
serves 'a.png: contains no certificate; expected a PEM file' --tls-cert a.png --tls-key server.key
serves 'server.key: contains no certificate' --tls-cert server.key --tls-key server.key
serves 'server.pem: contains no private key; expected a PEM file' --tls-cert server.pem --tls-key server.pem
serves 'two.key: is not the private key of the certificate server.pem' --tls-cert server.pem --tls-key two.key
head -c 700 one.pem >cut.pem
serves 'cut.pem: ' --tls-cert cut.pem --tls-key server.key
{ head -n 1 one.pem && echo AAAA && tail -n 1 one.pem; } >bad.pem
serves 'bad.pem: the certificate cannot be read: ' --tls-cert bad.pem --tls-key server.key
openssl rsa -in one.key -aes128 -passout pass:secret -out locked.key 2>/dev/null
chmod 600 locked.key
serves 'locked.key: the key is encrypted; expected one without a password' --tls-cert server.pem --tls-key locked.key
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do cat one.pem; done >long.pem
serves 'long.pem: contains more than 16 certificates' --tls-cert long.pem --tls-key server.key
chmod 620 server.key
serves 'server.key: other users may write to it (mode 0620)' --tls-cert server.pem --tls-key server.key
chmod 600 server.key
if [ "$(id -u)" = 0 ]; then # root's own key is one that a container runtime has mounted; another user's is not
    cp server.key other.key && chown 1234 other.key
    serves "other.key: belongs to user 1234 (mode 0600); expected root's" --tls-cert server.pem --tls-key other.key
    chmod 755 "$work"
    cp server.key own.key && chown 65534 own.key server.pem && chmod 644 own.key
    mkdir bin && cp "$REID" bin/reid && chmod -R go+rX "$work"
    python3 -c 'import os, sys
os.setgid(65534); os.setuid(65534); os.execv(sys.argv[1], sys.argv[1:])' "$work/bin/reid" serve -m lost.safetensors \
        --listen 127.0.0.1:0 --tls-cert server.pem --tls-key own.key >"$out" 2>"$err"
    says 'own.key: other users may read the private key (mode 0644): chmod 600'
    chown 0 server.pem
    chmod 700 "$work"
else
    chmod 640 server.key
    serves 'server.key: other users may read the private key (mode 0640): chmod 600' --tls-cert server.pem \
        --tls-key server.key
    chmod 600 server.key
fi
# A libmicrohttpd without GnuTLS.
printf 'int MHD_is_feature_supported(int f) { return f != 4 && f != 3; }\n' >without.c
if ! grep -aq __asan_init "$REID" && ${CC:-cc} -shared -fPIC without.c -o without.so; then
    LD_PRELOAD=$work/without.so "$REID" serve -m b0.safetensors --listen 127.0.0.1:0 --tls-cert server.pem \
        --tls-key server.key >"$out" 2>"$err"
    says 'compiled without TLS; it needs GnuTLS, and libmicrohttpd with GnuTLS'
fi
openssl x509 -req -in one.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days -1 -out old.pem 2>/dev/null
serves 'old.pem: the certificate has expired, so clients will refuse it' --tls-cert old.pem --tls-key one.key

# Clients.
: >"$log"
"$REID" serve -m b0.safetensors --size 32x32 --socket "$work/reid.sock" --listen 127.0.0.1:0 --token-file token \
    --tls-cert server.pem --tls-key server.key --idle 2 --max-body 1M 2>"$log" &
server=$!
ready grep -q 'listening on' "$log" || check "a server" grep listening "$log"
check "https is said" grep -q "listening on unix:$work/reid.sock and https://127.0.0.1:[1-9]" "$log"
tcp=$(sed -n 's|.*https://||p' "$log")
plain=$socket
ask 200 '"live": true' $url/livez # the Unix socket is never encrypted
socket=
bearer='Authorization: Bearer 0123456789abcdef'
secure() { # secure STATUS PATTERN PATH CURL_ARGUMENT...: by https, and the certificate is checked
    status=$1 pattern=$2 path=$3
    shift 3
    ask "$status" "$pattern" --cacert ca.pem -H "$bearer" "$@" "https://$tcp$path"
}
secure 200 '"name": "reid"' /v2
secure 200 '"name": "reid"' /v2 --tlsv1.3
secure 200 '"name": "reid"' /v2 --tls-max 1.2
secure 200 '"embeddings"' /embed --data-binary @a.png
cp "$out" by_tls
curl -s --unix-socket "$plain" --data-binary @a.png $url/embed >by_unix
same by_tls by_unix
secure 413 'over the limit' /embed --data-binary @b0.safetensors
secure 200 "curl -s -H &quot;Authorization: Bearer \$REID_TOKEN&quot; --data-binary @photo.jpg .*https://$tcp/embed" / \
    -H 'Accept: text/html'
head -c 1000000 /dev/zero >large
secure 400 'not an image' /embed --data-binary @large
secure 413 'the body is over the limit of 1048576 bytes' /embed -H 'Transfer-Encoding: chunked' \
    --data-binary @b0.safetensors # sent into the session while the client still writes
got=$(curl -s -o "$out" -w '%{http_code}' --cacert ca.pem "https://$tcp/v2")
check "a token is needed (was $got)" [ "$got" = 401 ]
# Without the issuer's certificate, the client does not trust it.
curl -s "https://$tcp/livez" >"$out"
check "an unknown issuer" [ $? = 60 ]
shown_cert() { openssl s_client -connect "$tcp" -CAfile ca.pem "$@" </dev/null >session 2>&1; }
shown_cert -tls1_3
check "TLS 1.3" grep -q 'TLSv1.3, Cipher is' session
check "the chain is complete" grep -q 'Verify return code: 0 (ok)' session
check "the issuer is sent" [ "$(shown_cert -showcerts && grep -c 'BEGIN CERT' session)" = 2 ]
shown_cert -tls1_2
check "TLS 1.2" grep -q 'TLSv1.2, Cipher is' session
for version in tls1 tls1_1; do
    shown_cert -$version -cipher 'ALL:@SECLEVEL=0'
    check "not $version" grep -q 'Cipher is (NONE)' session
done
for weak in NULL-SHA256 AES128-SHA:RC4-SHA ADH-AES128-SHA256; do
    shown_cert -tls1_2 -cipher "${weak#*:}:@SECLEVEL=0"
    check "not $weak" grep -q 'Cipher is (NONE)\|no cipher match' session
done
got=$(curl -s -o "$out" -w '%{http_code}' "http://$tcp/v2")
check "no answer without TLS (was $got)" [ "$got" != 200 ]
check "clients" python3 "$repository/tests/tools/server/serve_tls.py" "$tcp" ca.pem "$server" a.png

# A reload: the connection that began with the first certificate goes on, new ones use the second.
cat two.pem >server.pem && cat two.key >server.key
check "a reload" python3 "$repository/tests/tools/server/serve_tls.py" "$tcp" ca.pem "$server" reload first second
cp b0.safetensors server.key && chmod 600 server.key # not a key
kill -HUP "$server"
ready grep -q 'the reload failed' "$log"
check "why is said" grep -q 'server.key: ' "$log"
secure 200 '"name": "reid"' /v2
check "no message has a key" [ -z "$(grep 'PRIVATE' "$log")" ]
end TERM
finish
