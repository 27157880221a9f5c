"""Loadcurve: load curves of real servers, with an interval on every number and a verdict on every point."""

__version__: str


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for: what reads it takes a third of the time of ``--help``."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version  # noqa: PLC0415 -- that is the point

    return version("loadcurve")
