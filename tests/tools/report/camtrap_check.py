"""Checks a Camtrap DP package with frictionless and the rules of the standard.

    camtrap_check.py FOLDER [STANDARD]

STANDARD is a folder with the standard's own camtrap-dp-profile.json and *-table-schema.json; without it, the rules of
its three tables as they are written down here: names and order of the fields, types, required fields, ranges, choices,
keys.
"""
import json
import pathlib
import sys

from frictionless import Package, system

MISSING = ["", "NA", "NaN", "nan"]
TIME = {"type": "datetime", "format": "%Y-%m-%dT%H:%M:%S%z"}
TEXT, SHARE = {"type": "string"}, {"type": "number", "minimum": 0, "maximum": 1}
SIZE = {"type": "number", "minimum": 1e-15, "maximum": 1}
KEY = {"type": "string", "required": True, "unique": True}
MUST = {"type": "string", "required": True}


def one_of(*words, **more):
    return {"type": "string", "enum": list(words), **more}


TABLES = {
    "deployments": {
        "deploymentID": KEY, "locationID": TEXT, "locationName": TEXT,
        "latitude": {"type": "number", "required": True, "minimum": -90, "maximum": 90},
        "longitude": {"type": "number", "required": True, "minimum": -180, "maximum": 180},
        "coordinateUncertainty": {"type": "integer", "minimum": 1},
        "deploymentStart": {**TIME, "required": True}, "deploymentEnd": {**TIME, "required": True},
    },
    "media": {
        "mediaID": KEY, "deploymentID": MUST, "captureMethod": one_of("activityDetection", "timeLapse"),
        "timestamp": {**TIME, "required": True},
        "filePath": {"type": "string", "required": True, "pattern": r"^(?=^[^./~])(^((?!\.{2}).)*$).*$"},
        "filePublic": {"type": "boolean", "required": True}, "fileName": TEXT,
        "fileMediatype": {"type": "string", "required": True, "pattern": "^(image|video|audio)/.*$"},
        "exifData": {"type": "any"}, "favorite": {"type": "boolean"}, "mediaComments": TEXT,
    },
    "observations": {
        "observationID": KEY, "deploymentID": MUST, "mediaID": TEXT, "eventID": TEXT,
        "eventStart": {**TIME, "required": True}, "eventEnd": {**TIME, "required": True},
        "observationLevel": one_of("media", "event", required=True),
        "observationType": one_of("animal", "human", "vehicle", "blank", "unknown", "unclassified", required=True),
        "cameraSetupType": one_of("setup", "calibration"), "scientificName": TEXT,
        "count": {"type": "integer", "minimum": 1}, "lifeStage": one_of("adult", "subadult", "juvenile"),
        "sex": one_of("female", "male"), "behavior": TEXT, "individualID": TEXT,
        "individualPositionRadius": {"type": "number", "minimum": 0},
        "individualPositionAngle": {"type": "number", "minimum": -90, "maximum": 90},
        "individualSpeed": {"type": "number", "minimum": 0}, "bboxX": SHARE, "bboxY": SHARE, "bboxWidth": SIZE,
        "bboxHeight": SIZE, "classificationMethod": one_of("human", "machine"), "classifiedBy": TEXT,
        "classificationTimestamp": TIME, "classificationProbability": SHARE, "observationTags": TEXT,
        "observationComments": TEXT,
    },
}
KEYS = {"deployments": [], "media": ["deployments"], "observations": ["deployments", "media"]}
ID = {"deployments": "deploymentID", "media": "mediaID", "observations": "observationID"}


def schema_of(table):
    fields = []
    for name, rules in TABLES[table].items():
        field = {"name": name, "type": rules["type"], "format": rules.get("format", "default")}
        field["constraints"] = {k: v for k, v in rules.items() if k not in ("type", "format")}
        fields.append(field)
    return {"fields": fields, "missingValues": MISSING, "primaryKey": ID[table],
            "foreignKeys": [{"fields": ID[other], "reference": {"resource": other, "fields": ID[other]}}
                            for other in KEYS[table]]}


def main(folder, standard=None):
    folder = pathlib.Path(folder)
    package = json.loads((folder / "datapackage.json").read_text())
    for resource in package["resources"]:
        if resource["name"] not in TABLES:
            continue
        if standard:
            schema = pathlib.Path(standard, resource["name"] + "-table-schema.json")
            resource["schema"] = json.loads(schema.read_text())
        else:
            resource["schema"] = schema_of(resource["name"])
    if standard:  # the profile's own part; the two that it refers to lie on the web
        import jsonschema
        profile = json.loads((pathlib.Path(standard) / "camtrap-dp-profile.json").read_text())
        own = {**profile["allOf"][1], "$defs": profile["$defs"]}
        own["properties"]["spatial"].pop("$ref", None)
        named = json.loads((folder / "datapackage.json").read_text())
        jsonschema.validate(named, own)
    package.pop("profile")
    with system.use_context(trusted=True):
        report = Package.from_descriptor(package, basepath=str(folder)).validate()
    for error in report.flatten(["title", "note", "rowNumber"]):
        print(*error)
    return 0 if report.valid else 1


sys.exit(main(*sys.argv[1:]))
