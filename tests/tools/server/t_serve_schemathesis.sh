# t_serve_schemathesis.sh: schemathesis, from PyPI, makes up requests from the OpenAPI document of reid serve and checks
# that every answer is one that the document states.
[ -n "${repository-}" ] || repository=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$repository" || exit 1
. tests/lib/python.sh
need_python venv_schemathesis schemathesis==4.32.5
. tests/lib/cli_lib.sh
. "$repository/tests/lib/serve_lib.sh"

b0 b0.safetensors
mkdir -p gallery/ann
picture gallery/ann/1.png 60 60 5
"$REID" serve -m b0.safetensors --size 32x32 --gallery gallery --threshold 0.9 --model-control \
    --listen 127.0.0.1:0 2>"$log" &
server=$!
ready grep -q 'listening on' "$log" || check "a server" grep listening "$log"
tcp=$(sed -n 's|.*http://||p' "$log")
# What a schema cannot say: the bytes of an image, that a shape fits its data, a base64 text, boxes inside the image.
# Bodies that are not images, shapes that do not fit and timeouts of a microsecond are hence answered with an error.
cat >schemathesis.toml <<'TOML'
generation.mode = "all"
generation.allow-x00 = false
[checks]
not_a_server_error.expected-statuses = ["2xx", "4xx", "501", "503", "504"]
positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "413", "415", "503", "504"]
negative_data_rejection.enabled = false
missing_required_header.enabled = false
unsupported_method.enabled = true
[parameters]
"path.model" = "b0"
TOML
schemathesis() { # schemathesis DOCUMENT OPTION...
    "$python" -m schemathesis.cli --config-file schemathesis.toml run "$@" --seed 47 --no-color >said 2>&1
    status=$?
}
curl -s "http://$tcp/openapi.json" | sed 's/"400": {[^}]*}, *//' >other.json
schemathesis other.json --url "http://$tcp" --max-examples 10 --phases coverage
check "a document that says something else is noticed" [ $status = 1 ]
check "a status that is not stated" grep -q 'Undocumented status code' said
schemathesis "http://$tcp/openapi.json" --max-examples 40 --phases examples,coverage,fuzzing
check "every answer is as the document says" [ $status = 0 ]
[ $status = 0 ] || sed -n '/FAILURES/,$p' said | head -n 60
check "it has called them" grep -q 'Operations: *\(1[0-9]\|2[0-9]\)' said
tail -n 12 said
check "it is still there" sh -c "curl -s http://$tcp/livez | grep -q true"
end TERM
finish
