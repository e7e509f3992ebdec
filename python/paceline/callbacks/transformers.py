"""Hugging Face: ``Trainer(..., callbacks=[PacelineCallback()])``."""

from typing import Any, Dict, Optional

from transformers import TrainerCallback

from .._reports import phase, report
from . import numbers

__all__ = ["PacelineCallback"]


class PacelineCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Reports what the trainer logs, at its global step."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begins the phase ``train``."""
        phase("train").__enter__()

    def on_log(
        self,
        args: Any,
        state: Any,
        control: Any,
        logs: Optional[Dict[str, Any]] = None,
        **_: Any,
    ) -> None:
        """Reports a line of the log."""
        report(step=state.global_step, **numbers(logs or {}))
