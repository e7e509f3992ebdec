"""Keras: ``model.fit(..., callbacks=[PacelineCallback()])``."""

from typing import Any, Dict, Optional

import keras

from .._reports import phase, report
from . import numbers

__all__ = ["PacelineCallback"]


class PacelineCallback(keras.callbacks.Callback):  # type: ignore[misc, unused-ignore]
    """Reports the logs of each epoch, which are counted from 1."""

    def on_train_begin(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """Begins the phase ``train``."""
        phase("train").__enter__()

    def on_epoch_end(self, epoch: int, logs: Optional[Dict[str, Any]] = None) -> None:
        """Reports what the epoch gave."""
        values = numbers(logs or {})
        values["epoch"] = epoch + 1
        report(step=epoch + 1, **values)
