"""What a process reports to its run, and that nothing happens outside one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import timeit
from pathlib import Path

import pytest

import paceline
from paceline import _reports

SCRIPT = """
import paceline
class Tensor:
    def __float__(self): return 0.25
with paceline.phase("train"):
    paceline.report(loss=Tensor(), step=3)
    with paceline.phase("eval"):
        paceline.report(accuracy=0.5, bad=float("nan"))
paceline.report()
"""


def lines(folder: Path, script: str, **env: str) -> list[dict[str, object]]:
    events = folder / "events.jsonl"
    events.touch()
    variables = {**os.environ, "PACELINE_EVENTS": str(events), **env}
    subprocess.run([sys.executable, "-c", script], env=variables, check=True)
    return [json.loads(line) for line in events.read_text().splitlines()]


def test_metrics_and_phases_are_lines_of_the_file(tmp_path: Path) -> None:
    found = lines(tmp_path, SCRIPT, RANK="2")
    assert found[:3] == [
        {"phase": "train", "rank": 2},
        {"step": 3, "loss": 0.25, "rank": 2},
        {"phase": "eval", "rank": 2},
    ]
    assert found[3]["accuracy"] == 0.5 and found[3]["bad"] != found[3]["bad"]
    assert found[4:] == [{"phase": "train", "rank": 2}]


def test_a_value_that_is_no_number_is_refused(tmp_path: Path) -> None:
    script = "import paceline\ntry: paceline.report(loss='high')\nexcept TypeError: paceline.report(ok=1)"
    assert lines(tmp_path, script) == [{"ok": 1}]


def test_a_training_goes_on_where_reports_cannot_be_written(tmp_path: Path) -> None:
    script = "import paceline\npaceline.report(a=1)\npaceline.report(a=2)\nprint('done')"
    missing = {**os.environ, "PACELINE_EVENTS": str(tmp_path / "no" / "file")}
    done = subprocess.run(
        [sys.executable, "-c", script], env=missing, check=True, capture_output=True, text=True
    )
    assert done.stdout == "done\n"
    assert done.stderr.count("paceline cannot report") == 1


def test_outside_a_run_nothing_happens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_reports, "_reports", None)
    assert not paceline.active()
    paceline.report(loss="not even converted", step=1)

    def empty() -> None:
        with paceline.phase("load"):
            pass

    count = 200_000
    of_report = min(timeit.repeat(lambda: paceline.report(loss=1.0, step=1), number=count, repeat=3))
    of_phase = min(timeit.repeat(empty, number=count, repeat=3))
    with capsys.disabled():
        print(
            f"\noutside a run: report {of_report / count * 1e6:.2f} µs, "
            f"phase {of_phase / count * 1e6:.2f} µs each"
        )
