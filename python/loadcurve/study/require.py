"""What a study requires of its servers: bounds of measures at points, which a run holds or fails."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from loadcurve.result.measure_names import RankedMeasureName
from loadcurve.stats.interval import CONFIDENCE
from loadcurve.stats.slo import ERRORS, LATENCY_FIELDS, expected_operation
from loadcurve.toml.bounds import (
    MIB_PER_UNIT,
    MS_PER_UNIT,
    PER_S,
    SHARE_PER_UNIT,
    US_PER_UNIT,
    BoundUnits,
    bound_in,
)
from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected, nearest, show
from loadcurve.toml.problems import Problem, own_problems
from loadcurve.toml.values import Text
from loadcurve.units import setting

Direction = Literal["below", "above"]
RequiredMeasureName = Literal[RankedMeasureName, "cpu_share", "processes_max", "errors"]
Confidence = Annotated[
    float, Field(ge=0.5, le=0.9999), Expected("a share of one from 0.5 to 0.9999, such as 0.95")
]

_TIME = (MS_PER_UNIT, 'a time with its unit, such as "10ms"')
_SIZE = (MIB_PER_UNIT, 'a size with its unit, such as "64MiB"')
_UNITS: Mapping[str, tuple[BoundUnits, str]] = {
    "throughput": (PER_S, 'a rate, such as "5000/s"'),
    "cpu_per_request_us": (US_PER_UNIT, 'a time with its unit, such as "50us"'),
    "memory_mean_mib": _SIZE,
    "memory_peak_mib": _SIZE,
    "cpu_share": ({"": Fraction(1), "CPUs": Fraction(1)}, 'a number of CPUs, such as "1.5"'),
    "processes_max": ({"": Fraction(1)}, 'a number of processes, such as "8"'),
    ERRORS: (SHARE_PER_UNIT, 'a percentage, such as "0.1 %"'),
}
"""The units of a measure's bound, and what is expected; latencies have times."""
OF_REQUESTS = ("throughput", *LATENCY_FIELDS.values(), ERRORS)
"""The measures that each request of a load has."""


def _as_studies_name_it(measure: object) -> object:
    """Read a percentile as limits write it, too: `p99.9`."""
    return measure.replace(".", "_") if isinstance(measure, str) else measure


class RequireTable(TomlTable):
    """A bound that a measure must keep. It is held or failed where the whole interval says so."""

    measure: Annotated[RequiredMeasureName, BeforeValidator(_as_studies_name_it)]
    """The figure that is required; `errors` is the share of requests without a correct answer."""
    below: Text | None = None
    """The bound that the figure must be below, with its unit, such as `"10ms"`."""
    above: Text | None = None
    """The bound that the figure must be above, such as `"5000/s"`; one of `below` and `above` is required."""
    request: Text | None = None
    """The request, or the kind of operation of a database, that alone is judged, by its name, such as
    `"GET /json"`; without it, the whole load.
    """
    server: Text | None = None
    """The server; without it, every server of the study."""
    at: dict[str, Annotated[int | float, Expected("a number")]] = Field(default_factory=dict)
    """The point, by keys of the sweep, such as `{ connections = 100 }`; without a key, every value of it."""
    confidence: Confidence = CONFIDENCE
    """How often the interval that decides holds the truth."""

    @property
    def direction(self) -> Direction:
        """The side of the bound where the figure must be."""
        return "above" if self.below is None else "below"

    @property
    def bound_text(self) -> str:
        """The bound as it was written."""
        return self.below or self.above or ""

    @property
    def bound(self) -> float:
        """The bound in the unit of the measure: ms, requests per second, µs, MiB, a share or a number."""
        bound = _bound(self.measure, self.bound_text)
        assert bound is not None, "checked when it was read"  # noqa: S101
        return bound

    @model_validator(mode="after")
    def _has_one_bound(self) -> Self:
        if (self.below is None) == (self.above is None):
            found = "missing" if self.below is None else "cannot be combined with above; keep one"
            expected = f"; expected {_expected(self.measure)}, or above instead" if self.below is None else ""
            raise own_problems([Problem(("below",), found + expected)])
        if _bound(self.measure, self.bound_text) is None:
            text = f"found {show(self.bound_text)}; {self.measure} expects {_expected(self.measure)}, above 0"
            raise own_problems([Problem((self.direction,), text)])
        if self.measure == ERRORS and self.above is not None:
            raise own_problems([Problem(("above",), "errors have a greatest share; write below instead")])
        if self.request is not None and self.measure not in OF_REQUESTS:
            text = f"{self.measure} is measured of the whole load; a request has {', '.join(OF_REQUESTS)}"
            raise own_problems([Problem(("request",), text)])
        return self


def _expected(measure: str) -> str:
    return _UNITS.get(measure, _TIME)[1]


def _bound(measure: str, text: str) -> float | None:
    """Return a bound in the unit of its measure; ``None`` where it is none, or not above 0."""
    return bound_in(text, _UNITS.get(measure, _TIME)[0]) or None


def require_inconsistencies(
    required: Sequence[RequireTable],
    servers: Mapping[str, Collection[str] | None],
    sweep: Mapping[str, Sequence[float]],
) -> Iterator[Problem]:
    """Yield the servers, the requests and the points of requirements that a study does not have.

    ``servers`` has the names of the requests that each is sent; ``None`` where they are not known yet.
    """
    for place, one in enumerate(required):
        if (problem := _request_not_sent(place, one, servers)) is not None:
            yield problem
        if one.server is not None and one.server not in servers:
            text = f"found {show(one.server)}; expected one of {', '.join(servers)}"
            yield Problem(("require", str(place), "server"), text + nearest(one.server, list(servers)))
        for key, value in one.at.items():
            at = ("require", str(place), "at", key)
            if key not in sweep:
                known = ", ".join(sweep)
                yield Problem(at, f"not in the sweep; expected one of {known}{nearest(key, list(sweep))}")
            elif value not in sweep[key]:
                values = ", ".join(map(setting, sweep[key]))
                yield Problem(at, f"found {show(value)}, where no point is; the sweep has {values}")


def _request_not_sent(
    place: int, one: RequireTable, servers: Mapping[str, Collection[str] | None]
) -> Problem | None:
    """Return what is wrong with a request that a server, which the requirement is about, is not sent."""
    for server, labels in servers.items():
        is_about = one.server in (None, server)
        if is_about and one.request is not None and labels is not None and one.request not in labels:
            expected = expected_operation(one.request, labels)
            text = f"found {show(one.request)}, which the load on {server} does not send; {expected}"
            return Problem(("require", str(place), "request"), text)
    return None


def required_of(study: Mapping[str, object]) -> list[RequireTable]:
    """Return what the recorded study of a run requires."""
    recorded = study.get("require")
    return [RequireTable.model_validate(one) for one in recorded] if isinstance(recorded, list) else []
