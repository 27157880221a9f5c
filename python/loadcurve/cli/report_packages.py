"""The packages of the extra ``report``, without which only loads run."""

from importlib.util import find_spec

OF_REPORTS = frozenset({"altair", "numpy", "polars", "scipy", "vl_convert", "xlsxwriter"})
"""The modules that they are imported as."""
INSTALL = "pip install 'loadcurve[report]'"
"""What installs them."""


def missing_packages() -> list[str]:
    """Return which of them cannot be found, without importing any."""
    return sorted(name for name in OF_REPORTS if find_spec(name) is None)
