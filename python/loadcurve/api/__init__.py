"""Loadcurve from Python: loads, runs, searches and comparisons, and run folders as tables and charts."""

from loadcurve.api.comparison import Comparison, Crosscheck, compare, crosscheck
from loadcurve.api.one_load import Load, load
from loadcurve.api.run_folder import Run, capacity, import_, run

__all__ = [
    "Comparison",
    "Crosscheck",
    "Load",
    "Run",
    "capacity",
    "compare",
    "crosscheck",
    "import_",
    "load",
    "run",
]
