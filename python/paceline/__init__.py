"""Paceline from Python: report metrics, load records, ask questions.

Inside a run, :func:`report` and :func:`phase` tell it what the training does; outside
they do nothing. :func:`load` gives records as data frames. :func:`study`,
:func:`analyze`, :func:`predict` and :func:`pick` ask the program and give typed answers.
Callbacks for frameworks are in :mod:`paceline.callbacks`.
"""

from ._answers import (
    Analysis,
    Pick,
    Picked,
    Prediction,
    Predictions,
    Study,
    Term,
    Value,
    analyze,
    pick,
    predict,
    study,
)
from ._binary import PacelineError, binary
from ._load import Run, Runs, load
from ._reports import active, phase, report

__all__ = [
    "Analysis",
    "PacelineError",
    "Pick",
    "Picked",
    "Prediction",
    "Predictions",
    "Run",
    "Runs",
    "Study",
    "Term",
    "Value",
    "active",
    "analyze",
    "binary",
    "load",
    "phase",
    "pick",
    "predict",
    "report",
    "study",
]
