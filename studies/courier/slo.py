#!/usr/bin/env python3
"""Tables 9 and 11 of the Courier paper: five random jobs with a deadline.

    paceline study run studies/courier --quick
    python3 studies/courier/slo.py courier-quick.study data=mnist:10000 epochs=3

Draws five jobs (CPUs, jobs at a time, deadline), lets `paceline pick` choose the
batch size of each from the study's runs alone, then runs each job with every
batch size. The naive scheduler of the paper draws its batch size uniformly, so
its expected result is the mean over the batch sizes. Words behind the study set
options of the job, or other keys of job.toml (`design.replicates=1`). Uses the
standard library only.
"""

import csv
import json
import pathlib
import random
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
MODEL = "lenet5"


def rows(study):
    with open(pathlib.Path(study) / "table.csv", newline="") as file:
        return [row for row in csv.DictReader(file) if row["outcome"] == "done"]


def drawn(study):
    """The paper draws deadlines from a normal distribution whose deviation is a
    third of its mean; the mean here is the mean time of the study's runs."""
    random_number = random.Random(1)
    table = [row for row in rows(study) if row["model"] == MODEL]
    mean = statistics.fmean(float(row["time"]) for row in table)
    cpus = sorted({int(row["cpus"]) for row in table})
    most = max(int(row["concurrency"]) for row in table)
    for _ in range(5):
        yield {
            "cpus": random_number.choice(cpus),
            # One more than the study has run, as in the paper.
            "concurrency": random_number.randint(1, most + 1),
            "slo": round(max(0.2 * mean, random_number.gauss(mean, mean / 3)), 2),
        }


def picked(study, job):
    given = f"model={MODEL},cpus={job['cpus']},concurrency={job['concurrency']}"
    command = ["paceline", "pick", study, "--maximize", "accuracy", "--slo", f"{job['slo']}s"]
    command += ["--given", given, "--format", "json"]
    answer = json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout)
    verdict = answer["verdict"]
    pick = verdict["pick"] if verdict["met"] else verdict["nearest"]
    return pick, verdict["met"]


def ran(number, job, words):
    """The mean time and accuracy with each batch size."""
    out = f"courier-job{number}.study"
    fixed = [f"fixed.{name}={job[name]}" for name in ("cpus", "concurrency")]
    command = ["paceline", "study", "run", str(HERE / "job.toml"), "--quiet", "--out", out]
    options = [word if "." in word.split("=")[0] else f"job.{word}" for word in words]
    subprocess.run(command + fixed + options, check=True)
    results = {}
    for batch in sorted({int(row["batch_size"]) for row in rows(out)}):
        of = [row for row in rows(out) if int(row["batch_size"]) == batch]
        time = statistics.fmean(float(row["time"]) for row in of)
        accuracy = statistics.fmean(float(row["accuracy"]) for row in of)
        results[batch] = (time, accuracy)
    return results


def main():
    study, words = sys.argv[1], sys.argv[2:]
    print("| Job | CPUs | Jobs | Deadline (s) | Batch | Promised (s) | Took (s) | Promised accuracy"
          " | Accuracy | Naive: kept | Naive: accuracy where kept |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    kept, naive_kept = [], []
    errors = {"time": [], "accuracy": []}
    for number, job in enumerate(drawn(study), start=1):
        pick, met = picked(study, job)
        results = ran(number, job, words)
        batch = pick["configuration"]["batch_size"]
        time, accuracy = results[batch]
        promised = {name: value["value"] for name, value in pick["responses"].items()}
        in_time = [of for of in results.values() if of[0] <= job["slo"]]
        share = len(in_time) / len(results)
        naive = f"{100 * statistics.fmean(of[1] for of in in_time):.2f}%" if in_time else "–"
        kept.append(time <= job["slo"])
        naive_kept.append(share)
        errors["time"].append(time - promised["time"])
        errors["accuracy"].append(accuracy - promised["accuracy"])
        print(f"| {number} | {job['cpus']} | {job['concurrency']} | {job['slo']} | {batch}"
              f"{'' if met else ' (none keeps it)'} | {promised['time']:.2f} | {time:.2f}"
              f" | {100 * promised['accuracy']:.2f}% | {100 * accuracy:.2f}%"
              f" | {100 * share:.0f}% | {naive} |")
    print(f"\nDeadlines kept: {sum(kept)} of {len(kept)};"
          f" naive {100 * statistics.fmean(naive_kept):.0f}%")
    for name, of in errors.items():
        print(f"Mean squared error of the promised {name}:"
              f" {statistics.fmean(error * error for error in of):.3g}")


if __name__ == "__main__":
    main()
