# camtrap.sh: a Camtrap DP package for tests. Sourced after cli_lib.sh.
#
#     camtrap_description NAME LAST_DAY SPECIES     prints datapackage.json, which names the tables that the test writes

camtrap_description() {
    cat <<END
{"name": "$1", "created": "2024-05-01T00:00:00Z",
 "profile": "https://raw.githubusercontent.com/tdwg/camtrap-dp/1.0.2/camtrap-dp-profile.json",
 "contributors": [{"title": "Eve"}], "spatial": {"type": "Point", "coordinates": [5, 50]},
 "temporal": {"start": "2024-04-01", "end": "$2"}, "taxonomic": [{"scientificName": "$3"}],
 "project": {"title": "$1", "samplingDesign": "opportunistic", "captureMethod": ["activityDetection"],
             "individualAnimals": true, "observationLevel": ["media"]},
 "resources": [
  {"name": "deployments", "path": "deployments.csv", "profile": "tabular-data-resource",
   "schema": "https://raw.githubusercontent.com/tdwg/camtrap-dp/1.0.2/deployments-table-schema.json"},
  {"name": "media", "path": "media.csv", "profile": "tabular-data-resource", "encoding": "utf-8",
   "schema": "https://raw.githubusercontent.com/tdwg/camtrap-dp/1.0.2/media-table-schema.json"},
  {"name": "observations", "path": "observations.csv", "profile": "tabular-data-resource",
   "schema": "https://raw.githubusercontent.com/tdwg/camtrap-dp/1.0.2/observations-table-schema.json"}]}
END
}
