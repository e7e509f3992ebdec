"""What the fixtures say, computed from their lines by other means than the crate's.

    python expected.py >expected.json        (Python 3.11, standard library only)

Sums are taken over plain dictionaries; the driver's time is counted millisecond
by millisecond; the schedule is replayed one millisecond at a time, with lists
instead of a heap.
"""
import json
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).parent


def load(name):
    with open(HERE / f"{name}.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def of_kind(events, kind):
    return [e for e in events if e["Event"] == "SparkListener" + kind]


def dig(value, *keys):
    for key in keys:
        value = (value or {}).get(key)
    return value or 0


def delay(task):
    info, m = task["Task Info"], task.get("Task Metrics")
    if m is None:
        return 0
    length = info["Finish Time"] - info["Launch Time"]
    getting = info["Getting Result Time"]
    getting = info["Finish Time"] - getting if getting else 0
    known = m["Executor Run Time"] + m["Executor Deserialize Time"] + m["Result Serialization Time"]
    return max(0, length - known - getting)


def sums(tasks):
    def metric(*keys):
        return sum(dig(t.get("Task Metrics"), *keys) for t in tasks)

    reasons = [t["Task End Reason"]["Reason"] for t in tasks]
    return {
        "tasks": len(tasks),
        "failed": sum(r not in ("Success", "TaskKilled") for r in reasons),
        "duration_ms": sum(t["Task Info"]["Finish Time"] - t["Task Info"]["Launch Time"] for t in tasks),
        "run_ms": metric("Executor Run Time"),
        "cpu_ns": metric("Executor CPU Time"),
        "gc_ms": metric("JVM GC Time"),
        "deserialize_ms": metric("Executor Deserialize Time"),
        "scheduler_delay_ms": sum(delay(t) for t in tasks),
        "fetch_wait_ms": metric("Shuffle Read Metrics", "Fetch Wait Time"),
        "shuffle_remote_bytes": metric("Shuffle Read Metrics", "Remote Bytes Read"),
        "shuffle_local_bytes": metric("Shuffle Read Metrics", "Local Bytes Read"),
        "shuffle_write_bytes": metric("Shuffle Write Metrics", "Shuffle Bytes Written"),
        "spilled_disk_bytes": metric("Disk Bytes Spilled"),
    }


def replay(events, slots, lengths=None, driver=True):
    """The model of the crate's documentation, one millisecond at a time."""
    begin = of_kind(events, "ApplicationStart")[0]["Timestamp"]
    end = of_kind(events, "ApplicationEnd")[0]["Timestamp"]
    ended = {e["Job ID"]: e["Completion Time"] for e in of_kind(events, "JobEnd")}
    jobs = [
        {"id": e["Job ID"], "at": e["Submission Time"], "stages": set(e["Stage IDs"])}
        for e in of_kind(events, "JobStart")
    ]
    stages = []
    for event in of_kind(events, "StageCompleted"):
        info = event["Stage Info"]
        key = (info["Stage ID"], info["Stage Attempt ID"])
        tasks = [
            t
            for t in of_kind(events, "TaskEnd")
            if (t["Stage ID"], t["Stage Attempt ID"]) == key
        ]
        tasks.sort(key=lambda t: t["Task Info"]["Task ID"])
        if not tasks:
            continue
        plain = [t["Task Info"]["Finish Time"] - t["Task Info"]["Launch Time"] for t in tasks]
        stages.append({
            "key": key,
            "submitted": info["Submission Time"],
            "completed": info["Completion Time"],
            "parents": info["Parent IDs"],
            "lengths": lengths(plain) if lengths else plain,
            "first": min(t["Task Info"]["Launch Time"] for t in tasks),
            "last": max(t["Task Info"]["Finish Time"] for t in tasks),
        })
    stages.sort(key=lambda s: (s["submitted"], s["key"]))
    for job in jobs:
        before = [j for j in jobs if j is not job and ended[j["id"]] <= job["at"]]
        job["after"] = max(before, key=lambda j: ended[j["id"]]) if before else None
        base = ended[job["after"]["id"]] if before else begin
        job["gap"] = job["at"] - base if driver else 0
        job["end"] = None
    for s in stages:
        mine = [j for j in jobs if s["key"][0] in j["stages"] and j["at"] <= s["submitted"]]
        s["job"] = max(mine, key=lambda j: j["at"])
        s["needs"] = [
            p
            for p in stages
            if p is not s and p.get("job") is s["job"] and p["key"][0] in s["parents"]
            and p["completed"] <= s["submitted"]
        ]
        ready = max([p["completed"] for p in s["needs"]] + [s["job"]["at"]])
        others = [o for o in stages if o is not s and o["first"] < s["first"] and o["last"] > ready]
        s["lead"] = 0 if others else max(0, s["first"] - ready)
        s["trail"] = max(0, s["completed"] - s["last"])
        s.update(start=None, next=0, running=[], end=None)
    for job in jobs:
        job["mine"] = [s for s in stages if s["job"] is job]
    now, free = 0, slots
    while True:
        # At one moment things follow from each other: until nothing changes.
        changed = True
        while changed:
            changed = False
            for s in stages:
                done = [t for t in s["running"] if t <= now]
                if done:
                    s["running"] = [t for t in s["running"] if t > now]
                    free += len(done)
                    changed = True
                    if not s["running"] and s["next"] == len(s["lengths"]):
                        s["end"] = now + s["trail"]
            for job in jobs:
                if job["end"] is None and job.get("begin") is None:
                    after = job["after"]
                    if after is None:
                        job["begin"] = job["gap"]
                        changed = True
                    elif after["end"] is not None and after["end"] <= now:
                        job["begin"] = after["end"] + job["gap"]
                        changed = True
                if job["end"] is None and job.get("begin") is not None and job["begin"] <= now:
                    if all(s["end"] is not None and s["end"] <= now for s in job["mine"]):
                        job["end"] = now
                        changed = True
            for s in stages:
                begin_of_job = s["job"].get("begin")
                if s["start"] is None and begin_of_job is not None and begin_of_job <= now:
                    if all(p["end"] is not None and p["end"] <= now for p in s["needs"]):
                        s["start"] = now + s["lead"]
                        changed = True
            # Zero-length tasks end in the same moment, so slots are given out last.
            if not changed:
                waiting = [s for s in stages if s["start"] is not None and s["start"] <= now]
                waiting.sort(key=lambda s: (s["job"]["at"], s["job"]["id"], stages.index(s)))
                for s in waiting:
                    while free and s["next"] < len(s["lengths"]):
                        s["running"].append(now + s["lengths"][s["next"]])
                        s["next"] += 1
                        free -= 1
                        changed = True
        if all(job["end"] is not None for job in jobs):
            break
        now += 1
    tail = end - max(ended.values()) if driver else 0
    return now + tail


def even(lengths):
    return [-(-sum(lengths) // len(lengths))] * len(lengths)


def expected(name):
    events = load(name)
    begin = of_kind(events, "ApplicationStart")[0]["Timestamp"]
    end = of_kind(events, "ApplicationEnd")[0]["Timestamp"]
    tasks = of_kind(events, "TaskEnd")
    stages, spans = [], []
    for event in of_kind(events, "StageCompleted"):
        info = event["Stage Info"]
        own = [
            t for t in tasks
            if (t["Stage ID"], t["Stage Attempt ID"]) == (info["Stage ID"], info["Stage Attempt ID"])
        ]
        lengths = [t["Task Info"]["Finish Time"] - t["Task Info"]["Launch Time"] for t in own]
        spans.append((info["Submission Time"], info["Completion Time"]))
        stages.append({
            "id": info["Stage ID"],
            "attempt": info["Stage Attempt ID"],
            "wall_ms": info["Completion Time"] - info["Submission Time"],
            "median_ms": statistics.median(lengths),
            "longest_ms": max(lengths),
            **sums(own),
        })
    busy = sum(any(a <= ms < b for a, b in spans) for ms in range(begin, end))
    removed = {e["Executor ID"]: e["Timestamp"] for e in of_kind(events, "ExecutorRemoved")}
    executors, slot_ms = [], 0
    for event in of_kind(events, "ExecutorAdded"):
        key, cores = event["Executor ID"], event["Executor Info"]["Total Cores"]
        alive = min(removed.get(key, end), end) - max(event["Timestamp"], begin)
        slot_ms += cores * alive
        executors.append({
            "id": key,
            "cores": cores,
            "slot_ms": cores * alive,
            **sums([t for t in tasks if t["Task Info"]["Executor ID"] == key]),
        })
    moments = [e["Timestamp"] for e in of_kind(events, "ExecutorAdded")]

    def at_once(weight):
        return max(
            sum(weight(e) for e in of_kind(events, "ExecutorAdded")
                if e["Timestamp"] <= m < removed.get(e["Executor ID"], m + 1))
            for m in moments
        )

    slots = at_once(lambda e: e["Executor Info"]["Total Cores"])
    totals = sums(tasks)
    return {
        "name": of_kind(events, "ApplicationStart")[0]["App Name"],
        "wall_ms": end - begin,
        "driver_ms": end - begin - busy,
        "jobs": len(of_kind(events, "JobStart")),
        "slots": slots,
        "peak_executors": at_once(lambda e: 1),
        # Tasks of a lost executor end when the driver hears of it, later than it.
        "idle_share": max(0, 1 - totals["duration_ms"] / slot_ms),
        "totals": totals,
        "stages": sorted(stages, key=lambda s: (s["id"], s["attempt"])),
        "executors": executors,
        "replayed_ms": {str(n): replay(events, n) for n in (1, slots, 2 * slots, 1000)},
        "replayed_even_ms": replay(events, slots, even),
        "replayed_without_driver_ms": replay(events, slots, driver=False),
    }


json.dump({name: expected(name) for name in ("skew", "sql", "lost")}, sys.stdout, indent=1)
print()
