"""Shortens an event log for a fixture: paths, environment and accumulables go.

    python shorten.py LOG >FIXTURE
"""
import json
import re
import sys

PATH = re.compile(r"/(?:work|tmp|root|home|usr|run|opt)/[^\s\",;:()]*")


def clean(value):
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items() if key != "Accumulables"}
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, str):
        return PATH.sub("/path", value)
    return value


for line in open(sys.argv[1], encoding="utf-8"):
    event = json.loads(line)
    kind = event["Event"]
    if kind == "SparkListenerEnvironmentUpdate":
        kept = {k: v for k, v in event["Spark Properties"].items() if "/" not in v}
        event = {"Event": kind, "Spark Properties": kept}
    if kind.startswith("org.apache.spark.sql"):
        event = {"Event": kind, "executionId": event.get("executionId"), "time": event.get("time")}
    if "Properties" in event:
        event["Properties"] = {}
    print(json.dumps(clean(event), separators=(",", ":")))
