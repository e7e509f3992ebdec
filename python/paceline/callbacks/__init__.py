"""Callbacks that report to the run: one module per framework, imported when it is used.

- ``from paceline.callbacks.keras import PacelineCallback``
- ``from paceline.callbacks.lightning import PacelineCallback``
- ``from paceline.callbacks.transformers import PacelineCallback``

Outside a run they do nothing.
"""

from typing import Any, Dict, Mapping

__all__ = ["numbers"]


def numbers(values: Mapping[str, Any]) -> Dict[str, float]:
    """Of a framework's logs, those that are single numbers; the step is the callback's to
    say."""
    found: Dict[str, float] = {}
    for name, value in values.items():
        if name == "step" or isinstance(value, (str, bytes)):
            continue
        try:
            found[name] = float(value)
        except (TypeError, ValueError, RuntimeError):
            continue
    return found
