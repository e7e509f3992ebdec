"""Lightning: ``Trainer(callbacks=[PacelineCallback()])``."""

from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:  # the package before it was renamed
    from pytorch_lightning import Callback

from .._reports import active, report
from . import numbers

__all__ = ["PacelineCallback"]


class PacelineCallback(Callback):  # type: ignore[misc, unused-ignore]
    """Reports the logged metrics after each epoch of training and of validation, at
    the trainer's global step."""

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Reports what training logged."""
        self._tell(trainer)

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Reports what validation logged; not that of the check before training."""
        if not trainer.sanity_checking:
            self._tell(trainer)

    def _tell(self, trainer: Any) -> None:
        if active():
            values = numbers(trainer.callback_metrics)
            values["epoch"] = trainer.current_epoch + 1
            report(step=trainer.global_step, **values)
