"""Loadcurve: load curves of real servers, with an interval on every number and a verdict on every point."""

from importlib.metadata import version

__version__ = version("loadcurve")
