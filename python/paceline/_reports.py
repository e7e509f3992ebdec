"""Metrics and phases of the run that this process is part of.

A run gives its commands the variable ``PACELINE_EVENTS``: a file to which they append
one JSON object per line. Without it, everything here does nothing.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Type, Union

__all__ = ["phase", "report"]

#: A number, or something that holds one: a tensor or an array of one element.
Number = Union[int, float, Any]


class _Reports:
    """The open file of a run."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.file: Optional[int] = None
        self.lock = threading.Lock()
        self.failed = False
        rank = os.environ.get("RANK", "")
        self.rank: Dict[str, int] = {"rank": int(rank)} if rank.isdecimal() else {}

    def write(self, values: Dict[str, object]) -> None:
        values.update(self.rank)
        line = (json.dumps(values) + "\n").encode()
        try:
            with self.lock:
                if self.file is None:
                    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
                    self.file = os.open(self.path, flags)
                # One write of a whole line: processes of a run share the file.
                os.write(self.file, line)
        except OSError as error:
            # A training goes on without its reports.
            if not self.failed:
                self.failed = True
                warnings.warn(f"paceline cannot report: {error}", RuntimeWarning, stacklevel=4)


def _number(name: str, value: Number) -> Union[int, float]:
    if isinstance(value, (int, float)):
        return value
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"the metric {name!r} is no number: {value!r}") from error


_path = os.environ.get("PACELINE_EVENTS")
_reports: Optional[_Reports] = _Reports(_path) if _path else None


def report(*, step: Optional[int] = None, **metrics: Number) -> None:
    """Reports metrics, at a step if one is given: ``report(loss=0.5, step=10)``.

    Tensors and arrays of one element count as their number. Outside a run nothing
    happens, not even a conversion.
    """
    if _reports is None:
        return
    values: Dict[str, object] = {} if step is None else {"step": int(step)}
    for name, value in metrics.items():
        values[name] = _number(name, value)
    if metrics:
        _reports.write(values)


class _Nothing:
    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


class _Phase:
    __slots__ = ("name", "reports")

    def __init__(self, name: str, reports: _Reports) -> None:
        self.name = name
        self.reports = reports

    def __enter__(self) -> None:
        _stack().append(self.name)
        self.reports.write({"phase": self.name})

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        stack = _stack()
        stack.pop()
        if stack:
            self.reports.write({"phase": stack[-1]})


_nothing = _Nothing()
_threads = threading.local()


def _stack() -> List[str]:
    stack: Optional[List[str]] = getattr(_threads, "stack", None)
    if stack is None:
        stack = _threads.stack = []
    return stack


def phase(name: str) -> Union[_Phase, _Nothing]:
    """A phase of the run: ``with paceline.phase("load"): ...``.

    A phase lasts until another begins; at the end of one within another, the outer
    one goes on. Outside a run nothing happens.
    """
    if _reports is None:
        return _nothing
    return _Phase(name, _reports)


def active() -> bool:
    """Whether this process is part of a run."""
    return _reports is not None


#: What callbacks report through; a name of its own, so that they can be tested alone.
Report = Callable[..., None]
