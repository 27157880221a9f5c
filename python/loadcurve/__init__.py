"""Loadcurve: load curves of real servers, with an interval on every number and a verdict on every point.

From Python, ``loadcurve.load`` puts one load on a URL, ``run``, ``capacity``, ``crosscheck``, ``compare``,
``gate`` and ``import_`` do what the commands do, and ``Run`` reads a run folder: see :mod:`loadcurve.api`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadcurve.api import (
        Comparison,
        Crosscheck,
        GateResult,
        Load,
        Run,
        capacity,
        compare,
        crosscheck,
        gate,
        import_,
        load,
        run,
    )

__version__: str
__all__ = [
    "Comparison",
    "Crosscheck",
    "GateResult",
    "Load",
    "Run",
    "__version__",
    "capacity",
    "compare",
    "crosscheck",
    "gate",
    "import_",
    "load",
    "run",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> object:
    """Import what is asked for, when it is: starting the command must not wait for it."""
    if name == "__version__":
        from loadcurve.version import VERSION  # noqa: PLC0415 -- that is the point

        return VERSION
    if name in __all__:
        from loadcurve import api  # noqa: PLC0415 -- that is the point

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
