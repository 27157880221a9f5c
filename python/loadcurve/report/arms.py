"""What differs between the loads of a run's servers, in words."""

from collections.abc import Iterable, Mapping
from typing import Any

from loadcurve.analysis.analysis import Analysis
from loadcurve.loads.models import keys_of
from loadcurve.report import text

LONGEST_VALUE = 40
"""Longer values are not shown, in characters."""


def own_loads(analysis: Analysis) -> dict[str, str]:
    """Return how a server's load differs from the study's, as ``calls = 1``; only of servers whose does."""
    return {
        name: own_load_in_words(analysis.run.load_model, server.load)
        for name, server in analysis.run.servers.items()
        if server.load
    }


def own_load_in_words(model: str | None, own: Mapping[str, Any]) -> str:
    """Return options that a server's load has in place of the study's, as ``calls = 1, other headers``."""
    keys = keys_of(model)
    return ", ".join(_setting(keys.get(name, name), _value(name, value)) for name, value in own.items())


def ranking_caution(analysis: Analysis, ranked: Iterable[str]) -> str | None:
    """Return what must be known of a ranking of these servers; ``None`` where all have the same load."""
    loads = {name: analysis.run.servers[name].load for name in ranked}
    own = [name for name, load in loads.items() if load]
    if not own or all(load == loads[own[0]] for load in loads.values()):
        return None
    verb = "has a load" if len(own) == 1 else "have loads"
    return (
        f"{text.listing(own)} {verb} other than the study's: ranks and ratios to others compare the loads, "
        "too, not only the servers."
    )


def loads_in_words(analysis: Analysis) -> list[str]:
    """Return a sentence on each server whose load differs from the study's."""
    return [
        f"The load on {name} differs: "
        + ", ".join(_change(key, *values) for key, values in _differing(analysis, server.load).items())
        + "."
        for name, server in analysis.run.servers.items()
        if server.load
    ]


def _differing(analysis: Analysis, own: Mapping[str, Any]) -> dict[str, tuple[str | None, str | None]]:
    """Return both values of each option that differs, the server's and the study's, by the study's key."""
    keys = keys_of(analysis.run.load_model)
    common = analysis.run.conditions["load"]
    return {
        keys.get(name, name): (_value(name, value), _value(name, common.get(name)))
        for name, value in own.items()
    }


def _setting(key: str, own: str | None) -> str:
    return f"other {key}" if own is None else f"{key} = {own}"


def _change(key: str, own: str | None, common: str | None) -> str:
    return _setting(key, own) if own is None or common is None else f"{key} = {own} instead of {common}"


def _value(name: str, value: Any) -> str | None:  # noqa: ANN401 -- what JSON may hold
    """Return a value as a study has it; ``None`` of a table, of what is long, and of what is not given."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{text.setting(value)}{' s' if name.endswith('_s') else ''}"
    if isinstance(value, list) and value and all(isinstance(one, int | float) for one in value):
        value = list(dict.fromkeys(map(text.setting, value)))
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = ", ".join(value)
    return value if isinstance(value, str) and len(value) <= LONGEST_VALUE else None
