"""The schema of cluster files names what the reader takes: each key of it is read,
and what the reader lists as possible is all of them.

usage: schema.py SCHEMA WEIRC MODEL FOLDER
"""
import json
import re
import subprocess
import sys

schema = json.load(open(sys.argv[1]))["properties"]
weirc, model, folder = sys.argv[2:]


def message(cluster):
    path = folder + "/cluster.json"
    with open(path, "w") as f:
        json.dump(cluster, f)
    done = subprocess.run([weirc, model, "--devices=" + path, "--stop-after=place", "-o",
                           folder + "/x.mlir"], capture_output=True, text=True)
    return done.stderr


def possible(cluster):
    return set(re.search(r"possible: (.*)", message(cluster))[1].split(", "))


device, link = {"name": "/cpu:0"}, {"from": "*", "to": "*"}
assert possible({"devices": [device], "none": 1}) == set(schema)
assert possible({"devices": [{**device, "none": 1}]}) == set(
    schema["devices"]["items"]["properties"])
assert possible({"devices": [device], "links": [{**link, "none": 1}]}) == set(
    schema["links"]["items"]["properties"])
# Bounds are those of the schema.
for what, items in (("devices", schema["devices"]["items"]), ("links", schema["links"]["items"])):
    for key, rule in items["properties"].items():
        if rule["type"] != "number":
            continue
        for value, good in ((1, True), (0, "minimum" in rule), (-1, False), ("1", False)):
            cluster = {"devices": [dict(device)], "links": [dict(link)]}
            cluster[what][0][key] = value
            # A device that holds one byte is read well, and too small.
            refused = "W0604" in message(cluster)
            assert refused != good, (what, key, value)
