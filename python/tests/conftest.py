"""Real runs by the real program, which $PACELINE_BIN names."""

from __future__ import annotations

from pathlib import Path

import pytest

import paceline
from paceline._binary import call

JOB = (
    "import paceline\n"
    "with paceline.phase('train'):\n"
    "    for step in range(1, 4): paceline.report(step=step, loss=1 / step)\n"
)


@pytest.fixture(scope="session", autouse=True)
def program() -> str:
    return paceline.binary()


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished runs that reported through the module."""
    import sys

    folder = tmp_path_factory.mktemp("runs")
    for name in ("first", "second"):
        call(["run", "--quiet", "--out", str(folder / name), "--", sys.executable, "-c", JOB])
    return folder


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = ["batch_size,workers,time,accuracy"]
    for batch in (64, 128, 256, 512):
        for workers in (1, 2, 4):
            time = 10 + 39_000 / batch / workers + (batch + workers) % 5
            rows.append(f"{batch},{workers},{time:.3f},{0.99 - batch / 12_000 + workers / 50_000:.5f}")
    path = tmp_path_factory.mktemp("table") / "old.csv"
    path.write_text("\n".join(rows) + "\n")
    return path
