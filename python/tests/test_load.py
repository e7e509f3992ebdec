"""Records as data frames, of finished runs and of one that still runs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import paceline


@pytest.fixture(params=["pandas", "polars"])
def frames(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(request.param)
    if request.param == "pandas":
        pytest.importorskip("pyarrow")
    return str(request.param)


def test_runs_samples_and_events(runs: Path, frames: str) -> None:
    loaded = paceline.load(runs, frames)
    assert list(loaded) == ["first", "second"]
    run = loaded["first"]
    assert run.finished and run.duration_s is not None and run.duration_s > 0
    assert run.responses == {"loss": pytest.approx(1 / 3)}
    table = loaded.runs()
    assert list(table["run"]) == ["first", "second"]
    assert list(table["outcome"])[0] == run.outcome
    samples = run.samples()
    assert len(samples) >= 1 and "run_cpu_user_s" in samples.columns
    assert set(loaded.samples()) == {"first", "second"}
    assert len(run.parts()) >= 1
    assert list(run.metric("loss")["step"]) == [1, 2, 3]
    curves = loaded.metric("loss")
    assert list(curves["run"]) == ["first"] * 3 + ["second"] * 3
    phases = run.events()
    assert "train" in list(phases["name"])


def test_one_run_is_loaded_alone_and_nothing_is_no_run(runs: Path, tmp_path: Path) -> None:
    assert list(paceline.load(runs / "first")) == ["first"]
    assert len(paceline.load(tmp_path)) == 0
    with pytest.raises(FileNotFoundError):
        paceline.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match="pandas or polars"):
        paceline.load(tmp_path, "excel")


def test_the_page_is_shown_in_a_notebook(runs: Path) -> None:
    page = paceline.load(runs / "first")["first"]._repr_html_()
    assert page.startswith("<iframe") and "first" in page and len(page) > 10_000
    broken = paceline.Run(str(runs / "nothing"))._repr_html_()
    assert broken.startswith("<pre>")


def _once_it_has_reported(
    folder: Path, frames: str, job: "subprocess.Popen[bytes]"
) -> paceline.Run:
    """Waits for the condition; the bound is only there so that a broken test ends."""
    for _ in range(1_200):
        if (folder / "live" / "start.json").exists():
            run = paceline.load(folder, frames)["live"]
            if len(run.metric("loss")) == 1:
                return run
        assert job.poll() is None, "the run ended early"
        time.sleep(0.1)
    raise AssertionError("nothing was reported")


def test_a_run_that_still_runs_is_read_as_it_is(tmp_path: Path, frames: str) -> None:
    script = "import paceline, sys\npaceline.report(step=1, loss=0.5)\nsys.stdin.read()"
    words = [paceline.binary(), "run", "--quiet", "--out", "live", "--"]
    job = subprocess.Popen(
        [*words, sys.executable, "-c", script], cwd=tmp_path, stdin=subprocess.PIPE
    )
    try:
        run = _once_it_has_reported(tmp_path, frames, job)
        assert run.state == "running" and run.outcome is None
        assert list(run.metric("loss")["value"]) == [0.5]
    finally:
        job.communicate()
    assert job.returncode == 0
    assert paceline.load(tmp_path, frames)["live"].finished
