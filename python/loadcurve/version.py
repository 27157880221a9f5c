"""The version of the package. Looking it up takes a third of the time of ``--help``, which needs none."""

from importlib.metadata import version

VERSION = version("loadcurve")
