"""What is asked of many runs, and of a run as its parameters change: studies, derivatives, fits."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from .design import sample
from .fit import Experiment, fit
from .fitted import Fit, FitWarning
from .sensitivities import Sensitivities, sensitivities
from .study import study
from .table import Table

__all__ = ["Experiment", "Fit", "FitWarning", "Sensitivities", "Table", "fit", "sample", "sensitivities", "study"]


class _Stage(ModuleType):
    """`polhode.study` is this stage and its verb: importing the one must not hide the other."""

    def __call__(self, *args: Any, **named: Any) -> Table:
        return study(*args, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)  # by its name, as other modules are when functions travel


sys.modules[__name__].__class__ = _Stage
