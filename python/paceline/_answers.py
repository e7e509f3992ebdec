"""Questions about results: the program's answers, with types.

Each answer holds what people ask for first, and the whole JSON document in ``json``
(its schema is in ``docs/reference/output.schema.json``).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._binary import ask, call, option, settings
from ._load import Runs, load

__all__ = [
    "Analysis",
    "Configuration",
    "Pick",
    "Picked",
    "Prediction",
    "Predictions",
    "Study",
    "Term",
    "Value",
    "analyze",
    "pick",
    "predict",
    "study",
]

Path = Union[str, "os.PathLike[str]"]
Level = Union[str, int, float, bool]
Configuration = Dict[str, Level]


@dataclass(frozen=True)
class Term:
    """A factor or an interaction, and how much it explains."""

    name: str
    #: Of the variation of the response, in percent; nothing if it cannot be told.
    variation_percent: Optional[float]
    p: Optional[float]
    p_adjusted: Optional[float]


@dataclass(frozen=True)
class Analysis:
    """What explains a response."""

    response: str
    formula: str
    observations: int
    r_squared: Optional[float]
    terms: List[Term]
    #: What it means, in plain words.
    findings: List[str]
    json: Dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Value:
    """A predicted value with its interval; either end may be unknown."""

    value: float
    low: Optional[float]
    high: Optional[float]


@dataclass(frozen=True)
class Prediction:
    """A response of one configuration."""

    configuration: Configuration
    response: str
    value: Value


@dataclass(frozen=True)
class Predictions:
    """What configurations will give."""

    runs: int
    #: The predictor that was chosen for each response.
    predictors: Dict[str, str]
    predictions: List[Prediction]
    json: Dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Picked:
    """A configuration and what is promised of it."""

    configuration: Configuration
    responses: Dict[str, Value]
    #: The probability with which each limit is kept.
    limits: Dict[str, float]


@dataclass(frozen=True)
class Pick:
    """What to run; nothing is picked if no configuration keeps every limit."""

    met: bool
    pick: Optional[Picked]
    runner_up: Optional[Picked]
    considered: int
    #: The command that runs it, if there is one.
    run: Optional[str]
    json: Dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Study:
    """A study that was run."""

    directory: str
    #: Whether every run was done; otherwise some failed or are missing.
    complete: bool
    json: Dict[str, Any] = field(repr=False)

    def load(self, frames: Optional[str] = None) -> Runs:
        """Its runs."""
        return load(self.directory, frames)

    def _repr_html_(self) -> str:
        return load(self.directory)._repr_html_()


def _list(values: Union[str, Sequence[str], None]) -> Optional[str]:
    if values is None or isinstance(values, str):
        return values
    return ",".join(values)


def study(
    file: Path,
    *,
    out: Optional[Path] = None,
    quick: bool = False,
    parallel: Optional[int] = None,
    **levels: object,
) -> Study:
    """Runs a study, or goes on with it, to its end; its directory is ``out``, or
    ``NAME.study`` beside ``NAME.toml``.

    ``levels`` change factors: ``study("study.toml", batch_size="64,128")``. Runs that
    fail are no error: ``complete`` says whether there were any.
    """
    path = os.fspath(file)
    words = ["study", "run", path, *(f"{name}={value}" for name, value in levels.items())]
    words += option("--quick", quick) + option("--parallel", parallel)
    directory = os.fspath(out) if out is not None else _study_directory(path, quick)
    call([*words, "--out", directory, "--quiet"], allowed=(0, 1))
    status = ask(["study", "status", directory])
    complete = bool(status["done"] == status["total"])
    return Study(directory=directory, complete=complete, json=status)


def _study_directory(path: str, quick: bool) -> str:
    if os.path.isdir(path):
        path = os.path.join(path, "study.toml")
    stem = path[: -len(".toml")] if path.endswith(".toml") else path
    return f"{stem}-quick.study" if quick else f"{stem}.study"


def analyze(
    table: Path,
    response: Optional[str] = None,
    *,
    formula: Optional[str] = None,
    anova_type: Optional[int] = None,
) -> Analysis:
    """What explains a response of a study, or of a CSV table."""
    words = ["analyze", os.fspath(table)]
    words += option("--response", response) + option("--formula", formula)
    document = ask(words + option("--type", anova_type))
    terms = [
        Term(
            name=str(term["name"]),
            variation_percent=term.get("variation_percent"),
            p=term.get("p"),
            p_adjusted=term.get("p_adjusted"),
        )
        for term in document["anova"]["terms"]
    ]
    return Analysis(
        response=document["response"],
        formula=document["formula"],
        observations=document["observations"],
        r_squared=document["summary"]["r_squared"],
        terms=terms,
        findings=[str(finding) for finding in document["findings"]],
        json=document,
    )


def predict(
    table: Path,
    at: Union[Mapping[str, Level], Sequence[Mapping[str, Level]], None] = None,
    *,
    factors: Union[str, Sequence[str], None] = None,
    responses: Union[str, Sequence[str], None] = None,
    predictor: Optional[str] = None,
    coverage: Optional[float] = None,
    seed: Optional[int] = None,
) -> Predictions:
    """What configurations will give, with intervals."""
    words = ["predict", os.fspath(table)]
    each = [at] if isinstance(at, Mapping) else list(at or [])
    for configuration in each:
        words += ["--at", settings(dict(configuration))]
    words += option("--factors", _list(factors)) + option("--responses", _list(responses))
    words += option("--predictor", predictor) + option("--coverage", coverage)
    document = ask(words + option("--seed", seed))
    predictions = [
        Prediction(dict(one["configuration"]), response, _value(value))
        for one in document["predictions"]
        for response, value in one["responses"].items()
    ]
    return Predictions(
        runs=document["runs"],
        predictors={one["response"]: one["predictor"] for one in document["responses"]},
        predictions=predictions,
        json=document,
    )


def pick(
    table: Path,
    *,
    maximize: Optional[str] = None,
    minimize: Optional[str] = None,
    slo: Optional[str] = None,
    limits: Sequence[str] = (),
    given: Optional[Mapping[str, Level]] = None,
    factors: Union[str, Sequence[str], None] = None,
    confidence: Optional[float] = None,
    predictor: Optional[str] = None,
    epochs_free: bool = False,
    seed: Optional[int] = None,
) -> Pick:
    """The configuration that is best among those that keep every limit."""
    words = ["pick", os.fspath(table)]
    words += option("--maximize", maximize) + option("--minimize", minimize)
    words += option("--slo", slo) + option("--factors", _list(factors))
    for limit in limits:
        words += ["--limit", limit]
    words += option("--given", settings(dict(given)) if given else None)
    words += option("--confidence", confidence) + option("--predictor", predictor)
    words += option("--epochs-free", epochs_free) + option("--seed", seed)
    # Code 1 says that nothing keeps every limit, which is an answer.
    document = ask(words, allowed=(0, 1))
    verdict = document["verdict"]
    runner_up = verdict.get("runner_up")
    return Pick(
        met=bool(verdict["met"]),
        pick=_picked(verdict.get("pick")),
        runner_up=_picked(runner_up.get("pick") if runner_up else None),
        considered=document["considered"],
        run=document.get("run"),
        json=document,
    )


def _picked(found: Optional[Dict[str, Any]]) -> Optional[Picked]:
    if found is None:
        return None
    return Picked(
        configuration=dict(found["configuration"]),
        responses={name: _value(value) for name, value in found["responses"].items()},
        limits={one["limit"]: one["probability"] for one in found["limits"]},
    )


def _value(found: Dict[str, Any]) -> Value:
    return Value(found["value"], found.get("low"), found.get("high"))
