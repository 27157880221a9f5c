"""Loadcurve from Python: loads, runs, searches and comparisons, and run folders as tables and charts."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadcurve.api.comparison import Comparison, Crosscheck, GateResult, compare, crosscheck, gate
    from loadcurve.api.one_load import Load, load
    from loadcurve.api.run_folder import Run, capacity, import_, run

__all__ = [
    "Comparison",
    "Crosscheck",
    "GateResult",
    "Load",
    "Run",
    "capacity",
    "compare",
    "crosscheck",
    "gate",
    "import_",
    "load",
    "run",
]
_OF_LOADS = frozenset({"Load", "load"})
_OF_COMPARISONS = frozenset({"Comparison", "Crosscheck", "GateResult", "compare", "crosscheck", "gate"})


def __getattr__(name: str) -> object:
    """Import what is asked for, when it is: a load requires nothing that makes tables and charts."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "one_load" if name in _OF_LOADS else "comparison" if name in _OF_COMPARISONS else "run_folder"
    return getattr(importlib.import_module(f"loadcurve.api.{module}"), name)
