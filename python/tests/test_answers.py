"""Answers of the real program, with types."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import paceline

STUDY = """
name = "small"

[job]
command = ["{python}", "-c", "import paceline; paceline.report(score={{n}} * 2.0, step=1)"]

[factors]
n = [1, 2]

[design]
kind = "full"
replicates = 2

[responses]
score = {{ metric = "score" }}
"""


def test_analyze(table: Path) -> None:
    found = paceline.analyze(table, "time")
    assert found.response == "time" and found.observations == 12
    assert {term.name for term in found.terms} == {"batch_size", "workers"}
    assert found.r_squared is not None and 0 < found.r_squared <= 1
    assert found.findings and found.json["version"] == 1


def test_predict(table: Path) -> None:
    at = {"batch_size": 128, "workers": 2}
    found = paceline.predict(table, at, factors=["batch_size", "workers"], responses="time")
    (one,) = found.predictions
    assert one.configuration == at and one.response == "time"
    assert one.value.low is not None and one.value.high is not None
    assert one.value.low < one.value.value < one.value.high
    assert set(found.predictors) == {"time"}


def test_pick(table: Path) -> None:
    factors = "batch_size,workers"
    found = paceline.pick(table, maximize="accuracy", slo="200s", factors=factors)
    assert found.met and found.pick is not None
    assert found.pick.responses["time"].value < 200
    assert list(found.pick.limits.values())[0] >= 0.95
    never = paceline.pick(table, maximize="accuracy", slo="1s", factors=factors)
    assert not never.met


def test_a_mistake_is_an_exception_with_the_program_s_words(table: Path) -> None:
    with pytest.raises(paceline.PacelineError, match="tmie") as caught:
        paceline.analyze(table, "tmie")
    assert caught.value.code == 2


def test_study(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(STUDY.format(python=sys.executable))
    done = paceline.study(file)
    assert done.complete and Path(done.directory) == tmp_path / "small.study"
    runs = done.load()
    assert len(runs) == 4
    assert sorted(run.responses["score"] for run in runs.values()) == [2.0, 2.0, 4.0, 4.0]
