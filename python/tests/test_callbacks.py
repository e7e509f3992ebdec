"""Callbacks, with the frameworks where they are installed."""

from __future__ import annotations

from paceline.callbacks import numbers


class Scalar:
    def __float__(self) -> float:
        return 2.5


def test_single_numbers_are_reported_and_nothing_else() -> None:
    logs = {"loss": 1, "tensor": Scalar(), "text": "1.0", "many": [1, 2], "none": None}
    assert numbers(logs) == {"loss": 1.0, "tensor": 2.5}
