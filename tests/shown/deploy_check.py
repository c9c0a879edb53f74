"""deploy_check.py files FOLDER, or metrics FOLDER HOST:PORT TOKEN: examples/deploy, for t_deploy.sh."""
import json
import os
import re
import sys
import urllib.request

import yaml

folder = sys.argv[2]


def text(name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def files():
    import kubernetes_validate
    documents = list(yaml.safe_load_all(text("kubernetes.yaml")))
    kinds = {d["kind"]: d for d in documents}
    assert set(kinds) == {"Secret", "Deployment", "Service", "HorizontalPodAutoscaler", "PodMonitor"}, set(kinds)
    for document in documents:
        if document["kind"] != "PodMonitor":
            kubernetes_validate.validate(document, "1.30", strict=True)
    broken = dict(kinds["Service"], spec={"ports": "http"})
    try:
        kubernetes_validate.validate(broken, "1.30", strict=True)
    except Exception:  # pylint: disable=broad-except # of a class that depends on the version
        pass
    else:
        raise AssertionError("a Service without ports is accepted")
    pod = kinds["Deployment"]["spec"]["template"]
    container, = pod["spec"]["containers"]
    ports = {p["name"] for p in container["ports"]}
    assert kinds["PodMonitor"]["spec"]["podMetricsEndpoints"][0]["port"] in ports
    assert kinds["Service"]["spec"]["ports"][0]["targetPort"] in ports
    for selector in (kinds["Service"]["spec"]["selector"], kinds["Deployment"]["spec"]["selector"]["matchLabels"],
                     kinds["PodMonitor"]["spec"]["selector"]["matchLabels"]):
        assert selector.items() <= pod["metadata"]["labels"].items()
    mounted = {m["name"] for m in container["volumeMounts"]}
    assert mounted == {v["name"] for v in pod["spec"]["volumes"]}
    secret = kinds["Secret"]
    assert len(secret["stringData"]["token"]) >= 16
    assert kinds["PodMonitor"]["spec"]["podMetricsEndpoints"][0]["authorization"]["credentials"] == {
        "name": secret["metadata"]["name"], "key": "token"}
    compose = yaml.safe_load(text("compose.yaml"))
    server = compose["services"]["reid"]
    assert server["read_only"] and server["cap_drop"] == ["ALL"]
    context = os.path.join(folder, server["build"]["context"])
    assert os.path.samefile(os.path.join(context, server["build"]["dockerfile"]), os.path.join(folder, "Dockerfile"))
    for service in compose["services"].values():
        assert set(service["secrets"]) <= set(compose["secrets"])
    variables = {e["name"] for e in container["env"]} | set(server["environment"])
    variables |= set(re.findall(r"(REID_SERVE_[A-Z_]+)=", text("Dockerfile")))
    known = os.popen("build/reid help serve --environment").read()
    for variable in variables:
        assert variable + " " in known, variable
    assert re.search(r"^USER [1-9]", text("Dockerfile"), re.M) and "HEALTHCHECK" in text("Dockerfile")
    print(len(documents), "manifests,", len(variables), "variables")


def metrics():
    address, token = sys.argv[3:]
    request = urllib.request.Request("http://%s/metrics" % address, headers={"Authorization": "Bearer " + token})
    found = set(re.findall(r"^# TYPE (\S+)", urllib.request.urlopen(request).read().decode(), re.M))
    known = found | {name + end for name in found for end in ("_bucket", "_sum", "_count")}
    dashboard = json.loads(text("grafana.json"))
    asked = set()
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            asked |= set(re.findall(r"\b(?:reid|process)_[a-z_]+", target["expr"]))
    asked |= set(re.findall(r"name: (reid_[a-z_]+)", text("kubernetes.yaml")))
    assert len(asked) >= 15 and asked <= known, asked - known
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in dashboard["panels"]]
    assert len(set(places)) == len(places) == len({p["id"] for p in dashboard["panels"]})
    left = sorted(n for n in found - {a for a in asked} if n.startswith("reid_") and not
                  any(a.startswith(n) for a in asked))
    print(len(asked), "metrics; not shown:", " ".join(left))


{"files": files, "metrics": metrics}[sys.argv[1]]()
