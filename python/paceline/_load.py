"""Records as data frames: runs, their samples and their events."""

from __future__ import annotations

import html
import importlib
import importlib.util
import json
import os
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, Optional, Union

from ._binary import PacelineError, call

__all__ = ["Run", "Runs", "load"]

#: A frame of pandas or polars, whichever is asked for.
Frame = Any
Path = Union[str, "os.PathLike[str]"]

_MANIFEST = "manifest.json"
_START = "start.json"


def load(directory: Path, frames: Optional[str] = None) -> Runs:
    """The runs in a directory: one run, a study, or a folder of runs.

    Nothing but names is read until it is asked for. ``frames`` is ``"pandas"`` or
    ``"polars"``; by default the one that is installed, pandas before polars.
    """
    return Runs(os.fspath(directory), frames)


class Run:
    """One run: its manifest and its tables, read when they are asked for."""

    def __init__(self, directory: str, frames: Optional[str] = None) -> None:
        self.directory = directory
        self.id = os.path.basename(os.path.abspath(directory))
        self._frames = frames
        self._exported: Optional[tempfile.TemporaryDirectory[str]] = None

    def __repr__(self) -> str:
        return f"<paceline run {self.id}: {self.outcome or self.state}>"

    @property
    def finished(self) -> bool:
        """Whether the record is closed; it does not change any more."""
        return os.path.exists(os.path.join(self.directory, _MANIFEST))

    @property
    def state(self) -> str:
        """``finished``, or ``running`` if the record has no end yet."""
        return "finished" if self.finished else "running"

    @property
    def manifest(self) -> Dict[str, Any]:
        """Everything about the run but its tables (reference: The files of a run)."""
        for name in (_MANIFEST, _START):
            path = os.path.join(self.directory, name)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    manifest: Dict[str, Any] = json.load(file)
                return manifest
        raise PacelineError(4, f"{self.directory} is no record of a run")

    @property
    def name(self) -> str:
        """What the user calls it, or its id."""
        return str(self.manifest.get("name") or self.id)

    @property
    def outcome(self) -> Optional[str]:
        """How it ended, in the record's word; nothing while it runs."""
        outcome = self.manifest.get("outcome")
        return None if outcome is None else str(outcome)

    @property
    def duration_s(self) -> Optional[float]:
        """How long its commands took; nothing while it runs."""
        duration = self.manifest.get("duration_s")
        return None if duration is None else float(duration)

    @property
    def factors(self) -> Dict[str, Any]:
        """The levels of a study's factors in this run."""
        return dict(self.manifest.get("factors") or {})

    @property
    def responses(self) -> Dict[str, float]:
        """The results: the last value of each metric, or a study's responses."""
        return dict(self.manifest.get("responses") or {})

    @property
    def nodes(self) -> List[str]:
        """The machines that were sampled."""
        folder, ending = self._samples_folder()
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        tables = [name[: -len(ending)] for name in names if name.endswith(ending)]
        return [name for name in tables if not name.endswith(".parts") and name != "events"]

    def samples(self, node: Optional[str] = None) -> Frame:
        """One row per sample of a machine; of all of them, with a column ``node``, if
        none is named."""
        return self._of_nodes(node, "")

    def parts(self, node: Optional[str] = None) -> Frame:
        """One row per sample and core, disk, interface, GPU and process."""
        return self._of_nodes(node, ".parts")

    def events(self) -> Frame:
        """One row per event: starts, exits, metrics, phases, notices."""
        return self._table("events")

    def iterations(self) -> Frame:
        """Of a training with several workers, one row per worker and iteration."""
        return _read(os.path.join(self.directory, "iterations.parquet"), self._frames)

    def metric(self, name: str) -> Frame:
        """The events of one metric: its learning curve."""
        events = self.events()
        if _kind(self._frames) == "polars":
            return events.filter((events["kind"] == "metric") & (events["name"] == name))
        return events[(events["kind"] == "metric") & (events["name"] == name)]

    def _repr_html_(self) -> str:
        return _page(self.directory)

    def _samples_folder(self) -> tuple[str, str]:
        if self.finished:
            return os.path.join(self.directory, "samples"), ".parquet"
        return self._export(), ".csv"

    def _table(self, name: str) -> Frame:
        if self.finished:
            return _read(os.path.join(self.directory, f"{name}.parquet"), self._frames)
        return _read(os.path.join(self._export(), f"{name}.csv"), self._frames)

    def _of_nodes(self, node: Optional[str], kind: str) -> Frame:
        folder, ending = self._samples_folder()

        def one(name: str) -> Frame:
            return _read(os.path.join(folder, f"{name}{kind}{ending}"), self._frames)

        if node is not None:
            return one(node)
        return _stacked({name: one(name) for name in self.nodes}, "node", self._frames)

    def _export(self) -> str:
        """The tables of a run that still runs, as they are now."""
        self._exported = tempfile.TemporaryDirectory(prefix="paceline-")
        out = os.path.join(self._exported.name, "csv")
        call(["export", self.directory, "--to", "csv", "--out", out])
        return out


class Runs(Mapping[str, Run]):
    """Runs by their id, in order; a mapping."""

    def __init__(self, directory: str, frames: Optional[str] = None) -> None:
        if not os.path.isdir(directory):
            raise FileNotFoundError(f"{directory} is no directory")
        if frames is not None:
            _kind(frames)
        self.directory = directory
        self._frames = frames
        self._runs = {
            run.id: run for run in (Run(path, frames) for path in _records(directory))
        }

    def __getitem__(self, name: str) -> Run:
        return self._runs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        return f"<{len(self)} paceline runs in {self.directory}>"

    def runs(self) -> Frame:
        """One row per run: its id, name, state, outcome, duration, factors, responses."""
        rows = []
        for run in self.values():
            manifest = run.manifest
            row: Dict[str, Any] = {
                "run": run.id,
                "name": manifest.get("name"),
                "state": run.state,
                "started": manifest.get("started"),
                "outcome": manifest.get("outcome"),
                "duration_s": manifest.get("duration_s"),
            }
            row.update(manifest.get("factors") or {})
            row.update(manifest.get("responses") or {})
            rows.append(row)
        names: Dict[str, None] = {}
        for row in rows:
            names.update(dict.fromkeys(row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        library = importlib.import_module(_kind(self._frames))
        return library.DataFrame(columns)

    def samples(self) -> Dict[str, Frame]:
        """The samples of every run: a dict of frames by run."""
        return {name: run.samples() for name, run in self.items()}

    def events(self) -> Dict[str, Frame]:
        """The events of every run: a dict of frames by run."""
        return {name: run.events() for name, run in self.items()}

    def metric(self, name: str) -> Frame:
        """The learning curves of a metric, one below the other, with a column ``run``."""
        each = {run_id: run.metric(name) for run_id, run in self.items()}
        return _stacked(each, "run", self._frames)

    def _repr_html_(self) -> str:
        return _page(self.directory)


def _records(directory: str) -> List[str]:
    """The records in a directory: itself, those in it, or a study's."""

    def is_record(path: str) -> bool:
        # A plan is a study's, whose runs are one level below.
        return any(os.path.exists(os.path.join(path, name)) for name in (_MANIFEST, _START))

    if is_record(directory):
        return [directory]
    runs = os.path.join(directory, "runs")
    folder = runs if os.path.isdir(runs) else directory
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return [path for path in paths if is_record(path)]


def _kind(frames: Optional[str]) -> str:
    if frames is None:
        for name in ("pandas", "polars"):
            if importlib.util.find_spec(name) is not None:
                return name
        raise ImportError("data frames need pandas (with pyarrow) or polars")
    if frames not in ("pandas", "polars"):
        raise ValueError(f"frames are of pandas or polars, not of {frames!r}")
    return frames


def _read(path: str, frames: Optional[str]) -> Frame:
    library = importlib.import_module(_kind(frames))
    if not os.path.exists(path):
        raise FileNotFoundError(f"the record has no {os.path.basename(path)}")
    if path.endswith(".parquet"):
        try:
            return library.read_parquet(path)
        except Exception:
            # polars before 1.37 cannot read newer Parquet metadata; pyarrow does.
            if _kind(frames) != "polars" or importlib.util.find_spec("pyarrow") is None:
                raise
            return library.read_parquet(path, use_pyarrow=True)
    if _kind(frames) == "polars":
        return library.read_csv(path, infer_schema_length=None)
    return library.read_csv(path)


def _stacked(each: Dict[str, Frame], column: str, frames: Optional[str]) -> Frame:
    """Frames one below the other, with a first column that says whose a row is."""
    library = importlib.import_module(_kind(frames))
    if not each:
        return library.DataFrame({column: []})
    if _kind(frames) == "polars":
        marked = [
            frame.select(library.lit(name).alias(column), library.all())
            for name, frame in each.items()
        ]
        return library.concat(marked, how="diagonal_relaxed")
    whole = library.concat(each, names=[column]).reset_index(level=column)
    return whole.reset_index(drop=True)


def _page(directory: str) -> str:
    """The page of `paceline report` within another page."""
    with tempfile.TemporaryDirectory(prefix="paceline-") as folder:
        path = os.path.join(folder, "report.html")
        try:
            call(["report", directory, "--out", path], allowed=(0, 1))
            with open(path, encoding="utf-8") as file:
                page = file.read()
        except (PacelineError, OSError) as error:
            return f"<pre>{html.escape(str(error))}</pre>"
    inside = html.escape(page, quote=True)
    style = "width:100%;height:720px;border:1px solid #ccc"
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{inside}"></iframe>'
