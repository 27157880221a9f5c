"""Loadcurve from Python: a load, a run, and a run folder as tables and pictures."""

from loadcurve.api.one_load import Load, load
from loadcurve.api.run_folder import Run, run

__all__ = ["Load", "Run", "load", "run"]
