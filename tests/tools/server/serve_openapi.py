"""serve_openapi.py HOST:PORT MODEL PICTURE ROUTES.c [TOKEN]: `reid serve` against its own OpenAPI document.

Every path and method of the document is called and answers as the document states: status, type, headers, and the
schema of the body. The paths are those of the table of routes. A server with a gallery is expected; with TOKEN, one
that needs it, of which 401 is checked."""
import base64
import http.client
import json
import re
import sys

address, model, picture, routes = sys.argv[1:5]
token = sys.argv[5] if len(sys.argv) > 5 else None
image = open(picture, "rb").read()
failures = []


def check(good, *what):
    if not good:
        failures.append(" ".join(str(w) for w in what))


def ask(method, path, body=None, headers=None, with_token=True):
    """(status, header fields, body)"""
    sent = dict(headers or {})
    if token and with_token:
        sent["Authorization"] = "Bearer " + token
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request(method, path, body, sent)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, answer.headers, data


status, fields, text = ask("GET", "/openapi.json")
assert status == 200 and fields["Content-Type"] == "application/json"
doc = json.loads(text)
assert doc["openapi"].startswith("3.1.")


# --- the document -----------------------------------------------------------------------------------------------------

def find(reference):
    at = doc
    assert reference.startswith("#/"), reference
    for part in reference[2:].split("/"):
        at = at[part.replace("~1", "/").replace("~0", "~")]
    return at


def resolve(value):
    while isinstance(value, dict) and "$ref" in value:
        value = find(value["$ref"])
    return value


def walk(value):
    if isinstance(value, dict):
        if "$ref" in value:
            find(value["$ref"])
        for inner in value.values():
            walk(inner)
    elif isinstance(value, list):
        for inner in value:
            walk(inner)


walk(doc)

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
         "null": type(None)}
NOT_CHECKED = {"description", "default", "examples", "contentMediaType", "contentEncoding"}


def is_type(value, name):
    return isinstance(value, TYPES[name]) and not (isinstance(value, bool) and name in ("integer", "number"))


def wrong(value, schema):
    """The first violation of a schema, or None. A keyword that is not known here is one."""
    schema = resolve(schema)
    for key, rule in schema.items():
        if key in NOT_CHECKED or key == "items" and not isinstance(value, list):
            continue
        elif key == "type":
            if not any(is_type(value, name) for name in (rule if isinstance(rule, list) else [rule])):
                return "%.60r is not %s" % (value, rule)
        elif key == "const":
            if value != rule or type(value) is not type(rule):
                return "%.60r is not %r" % (value, rule)
        elif key == "enum":
            if value not in rule:
                return "%.60r is not one of %r" % (value, rule)
        elif key in ("minimum", "maximum"):
            if value < rule if key == "minimum" else value > rule:
                return "%r is beyond %r" % (value, rule)
        elif key in ("minItems", "maxItems", "maxLength"):
            if len(value) < rule if key == "minItems" else len(value) > rule:
                return "%.60r is too short or too long" % (value,)
        elif key == "pattern":
            if not re.search(rule, value):
                return "%.60r does not match %s" % (value, rule)
        elif key == "required":
            if any(name not in value for name in rule):
                return "%.60r lacks one of %r" % (value, rule)
        elif key == "properties":
            for name in value:
                found = wrong(value[name], rule[name]) if name in rule else None
                if found:
                    return name + ": " + found
        elif key == "additionalProperties":
            for name in value:
                if name in schema.get("properties", {}):
                    continue
                if rule is False:
                    return "%r is not a member" % name
                if wrong(value[name], rule):
                    return name + ": " + wrong(value[name], rule)
        elif key == "items":
            for item in value:
                if wrong(item, rule):
                    return wrong(item, rule)
        elif key in ("oneOf", "anyOf"):
            fitting = sum(wrong(value, one) is None for one in rule)
            if fitting < 1 or (key == "oneOf" and fitting > 1):
                return "%.60r fits %d of the alternatives" % (value, fitting)
        else:
            return "the keyword %s is not known to this test" % key
    return None


for value, schema, fits in (
        ({"a": 1}, {"type": "object", "properties": {"a": {"minimum": 1}}, "additionalProperties": False}, True),
        ({"b": 1}, {"type": "object", "properties": {"a": {}}, "additionalProperties": False}, False),
        (True, {"type": "integer"}, False), ([1, "x"], {"items": {"type": "integer"}}, False), (1, {"not": {}}, False)):
    assert (wrong(value, schema) is None) == fits, (value, schema)


# --- the routes -------------------------------------------------------------------------------------------------------

def tables():
    source = open(routes).read()
    whole, of_model, of_repository = (re.search(name + r"\[\] = \{(.*?)\n\};", source, re.S).group(1)
                                      for name in ("WHOLE", "OF_MODEL", "OF_REPOSITORY"))
    paths = re.findall(r'\{"([^"]*)", ROUTE', whole)
    for rest in re.findall(r'\{"([^"]*)", ROUTE', of_model):
        paths += ["/v2/models/{model}" + rest, "/v2/models/{model}/versions/1" + rest]
    return paths + ["/v2/repository/models/{model}" + rest for rest in re.findall(r'\{"([^"]*)", ROUTE', of_repository)]


known = tables()
assert len(known) >= 20
check(sorted(known) == sorted(doc["paths"]), "paths of the document, but not of the table or reversed:",
      set(known) ^ set(doc["paths"]))

# --- calls ------------------------------------------------------------------------------------------------------------


def tensor(**more):
    return json.dumps(dict({"inputs": [{"name": "image", "datatype": "BYTES", "shape": [1],
                                        "data": [base64.b64encode(image).decode()]}]}, **more))


def form(*parts):
    body = b""
    for name, content in parts:
        body += b'--x\r\nContent-Disposition: form-data; name="' + name.encode() + b'"\r\n\r\n' + content + b"\r\n"
    return body + b"--x--\r\n", {"Content-Type": "multipart/form-data; boundary=x"}


JSON = {"Content-Type": "application/json"}
BYTES = {"Content-Type": "application/octet-stream"}
GOOD = {  # by the id of the operation: (query, body, header fields)
    "embed": [("", image, {"Content-Type": "image/png"}), ("?box=0,0,9,9&box=-2,3,20,20", image, BYTES),
              ("?priority=0&timeout=60000000&model=" + model, image, BYTES),
              ("", *form(("file", image), ("image", image), ("priority", b"7")))],
    "match": [("?top=1", image, BYTES), ("", *form(("file", image), ("box", b"1,1,9,9"), ("top", b"2")))],
    "infer": [("", tensor(), JSON), ("", tensor(id="a", parameters={"priority": 1, "timeout": 60000000}), JSON),
              ("", tensor(parameters={"binary_data_output": True}), JSON),
              ("", tensor(outputs=[{"name": "embedding", "parameters": {"binary_data": False}}]), JSON),
              ("", json.dumps({"inputs": [{"name": "pixels", "datatype": "UINT8", "shape": [1, 1, 2, 3],
                                           "data": [1, 2, 3, 4, 5, 255]}]}), JSON)],
    "index": [("", b"", {}), ("", b"{}", JSON), ("", json.dumps({"ready": True}), JSON)],
    "load": [("", b"", {}), ("", json.dumps({"parameters": {"other": 1}}), JSON)],
    "unload": [("", json.dumps({"parameters": {"unload_dependents": False}}), JSON)],
    "guide": [("", None, {"Accept": "text/html,*/*"}), ("", None, {"Accept": "*/*"})],
}
BAD = {  # by status: (method or None, query, body, header fields) for operations that have a body, and for others
    400: [("", b"nonsense", BYTES), ("?nonsense=1", image, BYTES)],
    403: [("", None, {"Host": "evil.example"})],
    411: [("", None, {})],
    413: [("", b"x", {"Content-Length": str(1 << 40)})],
    414: [("?x=" + "y" * (65 << 10), b"x", BYTES)],
    415: [("", b"x", {"Content-Type": "text/html"}), ("", b"x", {"Content-Encoding": "gzip"})],
    431: [("", b"x", {"X-Large": "y" * (66 << 10)})],
    501: [("", b"x", {"Transfer-Encoding": "gzip"})],
}
checked = set()


def media(content, given):
    given = given.split(";")[0]
    return content.get(given)


def fits(where, operation, answer):
    """Checks an answer against the responses of an operation."""
    status, fields, data = answer
    said = resolve(operation["responses"].get(str(status)))
    if said is None:
        return check(False, where, "answers", status, "which is not in the document:", data[:100])
    checked.add((operation["operationId"], status))
    kind = media(said["content"], fields["Content-Type"] or "")
    check(kind is not None, where, status, "has another type:", fields["Content-Type"])
    if kind and fields["Content-Type"] == "application/json":
        found = wrong(json.loads(data), kind["schema"])
        check(found is None, where, status, found)
    for name in said.get("headers", {}):
        needed = not (name == "X-Request-ID" or name.startswith("Inference-") and
                      fields["Content-Type"] == "application/json")
        check(name in fields or not needed, where, status, "lacks the header field", name)


def call(method, path, operation, query="", body=None, headers=None, with_token=True):
    url = path.replace("{model}", model) + query
    try:
        answer = ask(method, url, body, headers, with_token)
    except (ConnectionResetError, BrokenPipeError) as e:
        return check(False, method, url[:60], e)
    fits("%s %s" % (method, url[:60]), operation, answer)
    return answer[0]


def call_well(method, path, operation):
    for query, body, headers in GOOD.get(operation["operationId"], [("", None, {})]):
        got = call(method, path, operation, query, body, dict(headers, **{"X-Request-ID": "t"}))
        kept = operation["operationId"] in ("load", "unload")  # the gallery keeps its model
        check(got == (400 if kept else 200), method, path + query, "answers", got)


def call_badly(method, path, operation):
    has_body = "requestBody" in operation
    for wanted, requests in BAD.items():
        for query, body, headers in requests:
            if str(wanted) not in operation["responses"] or wanted == 403 and token:
                continue
            if not has_body and wanted == 400:
                body, headers, query = b"x", {}, ""
            elif not has_body:
                body = None
            elif wanted == 403:
                body = b"x"
            if wanted == 411:
                status = no_length(path, operation)
                check(status == 411, path, "without a length answers", status)
                continue
            got = call(method, path, operation, query, body, headers)
            check(got == wanted, method, path, "answers", got, "not", wanted, headers if wanted < 431 else "")
    if "{model}" in path:
        got = call(method, path.replace("{model}", "nobody"), operation, "", b"{}" if has_body else None, {})
        check(got == 404, path, "of a model that is not there answers", got)
    if "504" in operation["responses"]:
        late = (tensor(parameters={"timeout": 1}), "") if "infer" in path else (image, "?timeout=1")
        got = call(method, path, operation, late[1], late[0], {})
        check(got == 504, path, "too late answers", got)


def no_length(path, operation):
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.putrequest("POST", path.replace("{model}", model))
    if token:
        connection.putheader("Authorization", "Bearer " + token)
    connection.endheaders()
    answer = connection.getresponse()
    fits("POST " + path + " without a length", operation, (answer.status, answer.headers, answer.read()))
    return answer.status


def call_values(path, operation):
    """Values that the schema of a query's field forbids are refused."""
    for field in map(resolve, operation.get("parameters", [])):
        if field["in"] != "query":
            continue
        schema = resolve(field["schema"])
        bad = ["x y"]
        if schema.get("type") == "integer":
            bad += [schema["minimum"] - 1, schema["maximum"] + 1, "1.5", "-0x1"]
            good = [schema["minimum"], schema["maximum"]] if field["name"] != "timeout" else [0]
            for value in good:
                got = call("POST", path, operation, "?%s=%s" % (field["name"], value), image, BYTES)
                check(got == 200, path, field["name"], value, "answers", got)
        for value in bad:
            value = str(value).replace(" ", "%20")
            got = call("POST", path, operation, "?%s=%s" % (field["name"], value), image, BYTES)
            check(got in (400, 404), path, field["name"], value, "answers", got)


operations = 0
for path, item in doc["paths"].items():
    item = resolve(item)
    methods = {m.upper(): item[m] for m in ("get", "post", "put", "delete", "patch") if m in item}
    check(len(methods) == 1, path, "has one method")
    (method, operation), = methods.items()
    operations += 1
    if token:
        got = call(method, path, operation, "", b"x" if method == "POST" else None, {}, with_token=False)
        check((got == 401) == (operation.get("security") != []), path, "without a token answers", got)
        call_well(method, path, operation)
        continue
    call_well(method, path, operation)
    call_badly(method, path, operation)
    call_values(path, operation)
    for other in {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} - {method}:
        status, fields, data = ask(other, path.replace("{model}", model), b"x" if other == "POST" else None)
        as_said = wrong(json.loads(data), find("#/components/schemas/Error")) is None
        check(status == 405 and fields["Allow"] == method and as_said, other, path, "answers", status)
    if method == "GET":
        status, fields, data = ask("HEAD", path.replace("{model}", model))
        check(status == 200 and not data, "HEAD", path, "answers", status)

check(operations == len(known), "only", operations, "operations")
wanted = {(o["operationId"], int(s)) for i in doc["paths"].values() for o in resolve(i).values() if isinstance(o, dict)
          for s in o["responses"]}
# t_cli_serve has slow clients, failures, full queues, and a server without a gallery.
left = {(name, status) for name, status in wanted - checked if status not in (401, 408, 500, 503)} - {("match", 404)}
left -= {("load", 200), ("unload", 200), ("load", 507)}  # those of t_cli_serve_models
check(token or not left, "never seen:", sorted(left))
print("%d operations, %d of %d statuses" % (operations, len(checked), len(wanted)))
for failure in failures:
    print("FAILED:", failure)
sys.exit(bool(failures))
