"""Claims: what the authors of a publication concluded, as statements that a run can be held against."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, TypeAdapter, ValidationInfo, model_validator

from loadcurve.errors import BadInput
from loadcurve.result.measure_names import PublishedMeasureName
from loadcurve.stats.slo import parse_objective
from loadcurve.toml.document import TomlTable, read_toml_model
from loadcurve.toml.expected import Expected, nearest, show
from loadcurve.toml.problems import Problem, own_problem, own_problems
from loadcurve.toml.quantities import SHARE_IN_WORDS, Share
from loadcurve.toml.values import Text
from loadcurve.units import typed

Load = Annotated[int | float, Field(ge=0), Expected("a number, 0 or more")]
Margin = Annotated[Share, Field(gt=0, lt=1), Expected(f"{SHARE_IN_WORDS}, below 100 %")]
Pair = Annotated[
    list[Text], Field(min_length=2, max_length=2), Expected('two servers, such as ["nginx", "apache-event"]')
]

NEGLIGIBLE = 0.05
"""A difference of at most this share is none, where a claim names no other."""


def _readable_limits(limits: str) -> str:
    try:
        parse_objective(limits)
    except BadInput as error:
        raise own_problem(str(error)) from None
    return limits


Limits = Annotated[Text, AfterValidator(_readable_limits), Expected('limits, such as "p90 < 200ms"')]


class _ClaimTable(TomlTable):
    """What every claim has."""

    text: Text
    """The conclusion in words."""
    over: Text | None = None
    """The key of the sweep along which the curve runs; needed where several keys are swept."""

    @property
    def claimed_loads(self) -> dict[str, float]:
        """The loads that the claim is about by their keys, which lie within the sweep."""
        return {}


class _ClaimOfOneServer(_ClaimTable):
    """A claim about one server."""

    server: Text
    """The server."""

    @property
    def named_servers(self) -> list[str]:
        """The servers that the claim is about."""
        return [self.server]


class _ClaimOfLoads(_ClaimTable):
    """A claim about part of curves: from one load to another, both included."""

    least: Load | None = Field(None, alias="from")
    """The least load of the part of the curve; the whole curve without `from` and `to`."""
    greatest: Load | None = Field(None, alias="to")
    """The greatest load of that part."""
    within: Margin = NEGLIGIBLE
    """The share up to which a difference does not count."""

    def takes(self, load: float) -> bool:
        """Say whether the claim is about a load."""
        return (self.least is None or self.least <= load) and (self.greatest is None or load <= self.greatest)


class _ClaimOfServers(_ClaimOfLoads):
    """A claim that compares the figures of servers."""

    measure: PublishedMeasureName = "throughput"
    """The figure that is compared."""
    servers: list[Text]

    @property
    def named_servers(self) -> list[str]:
        """The servers that the claim is about."""
        return self.servers


class PeakClaim(_ClaimOfOneServer):
    """A server's curve is greatest near a load: between the measured loads on both sides of it."""

    kind: Literal["peak"]
    measure: PublishedMeasureName = "throughput"
    """The figure that is greatest there."""
    near: Load
    """The load of the peak."""

    @property
    def claimed_loads(self) -> dict[str, float]:
        """The load of the peak."""
        return {"near": self.near}


class RatioClaim(_ClaimOfServers):
    """The first server's figure is a number of times the second's, within a margin."""

    kind: Literal["ratio"]
    servers: Pair
    """The first is compared with the second."""
    ratio: Annotated[float, Field(gt=0), Expected("a number above 0, such as 1.3")] = Field(alias="is")
    """How many times the second's figure the first's is."""
    within: Margin = 0.1
    """The share of the ratio by which it may differ."""


class PairClaim(_ClaimOfServers):
    """The first server's figure is greater than the second's, or they differ by a negligible share."""

    kind: Literal["greater", "alike"]
    servers: Pair
    """The first is compared with the second."""


class TrendClaim(_ClaimOfServers):
    """A figure rises, falls or is level: along the sweep for one server, or over several in their order."""

    kind: Literal["rises", "falls", "level"]
    servers: Annotated[list[Text], Field(min_length=1), Expected("one server, or several in their order")]
    """One, along the sweep; or several, from the first to the last."""


class CheapestClaim(_ClaimOfOneServer):
    """A server is the cheapest of those that keep limits up to a load; servers need machine types."""

    kind: Literal["cheapest"]
    limits: Limits
    """The limits that it keeps."""
    up_to: Load
    """The load up to which it keeps them."""

    @property
    def claimed_loads(self) -> dict[str, float]:
        """The load up to which the limits are kept."""
        return {"up_to": self.up_to}


class BestValueClaim(_ClaimOfLoads, _ClaimOfOneServer):
    """A server answers most for its price, of those with a machine type."""

    kind: Literal["best_value"]


Claim = Annotated[
    PeakClaim | RatioClaim | PairClaim | TrendClaim | CheapestClaim | BestValueClaim,
    Field(discriminator="kind"),
]


class ClaimsFile(TomlTable):
    """A file of claims.

    Where it is read for a study, the validation's context has its ``servers`` and its ``sweep``.
    """

    claims: Annotated[list[Claim], Field(min_length=1), Expected("at least one [[claims]]")]

    @model_validator(mode="after")
    def _fit_the_study(self, info: ValidationInfo) -> "ClaimsFile":
        context = info.context or {}
        if "sweep" not in context:
            return self
        problems = [
            Problem(("claims", str(place), *problem.path), problem.text)
            for place, claim in enumerate(self.claims)
            for problem in _inconsistencies(claim, list(context["servers"]), context["sweep"])
        ]
        if problems:
            raise own_problems(problems)
        return self


def _inconsistencies(claim: Claim, servers: list[str], sweep: dict[str, list[float]]) -> Iterator[Problem]:
    """Yield what of a claim does not fit the servers and the sweep of its study."""
    key = "server" if isinstance(claim, _ClaimOfOneServer) else "servers"
    for place, name in enumerate(claim.named_servers):
        if name not in servers:
            path = (key,) if key == "server" else (key, str(place))
            text = f"found {show(name)}; expected a server of the study{nearest(name, servers)}"
            yield Problem(path, text)
    if claim.over is not None and claim.over not in sweep:
        expected = f"expected a key of [sweep]: {', '.join(sweep)}{nearest(claim.over, list(sweep))}"
        yield Problem(("over",), f"found {show(claim.over)}; {expected}")
        return
    if claim.over is None and len(sweep) > 1:
        yield Problem((), f'expected "over", one of {", ".join(sweep)}: several keys are swept')
        return
    loads = sweep[axis_of(claim, sweep)]
    for key, load in claim.claimed_loads.items():
        if not min(loads) <= load <= max(loads):
            closest = min(loads, key=lambda value: abs(value - load))
            text = (
                f"found {typed(load)}; expected a load within the sweep, from {typed(min(loads))} to "
                f"{typed(max(loads))}: beyond it nothing is measured. The nearest value is "
                f"{typed(closest)}"
            )
            yield Problem((key,), text)
    if isinstance(claim, _ClaimOfLoads):
        taken = [load for load in loads if claim.takes(load)]
        along = isinstance(claim, TrendClaim) and len(claim.servers) == 1
        if len(taken) < (2 if along else 1):
            few = "fewer than two values" if along else "none of the values"
            yield Problem((), f"{few} of the sweep, {', '.join(map(str, loads))}, lie between from and to")


def axis_of(claim: Claim, sweep: dict[str, list[float]]) -> str:
    """Return the key along which a claim's curve runs: the one that it names, or the only one swept."""
    return claim.over or next(iter(sweep))


def read_claims(value: object, info: ValidationInfo) -> object:
    """Read the file that a study names; what a record of the run holds is the file's content already."""
    if not isinstance(value, str):
        return value
    context = info.context or {}
    parts: dict[str, object] = {key: info.data[key] for key in ("servers", "sweep") if key in info.data}
    # Servers or a sweep that cannot be read are reported for themselves.
    known = parts if len(parts) == 2 else {}  # noqa: PLR2004 - both
    return read_toml_model(Path(context.get("folder", ""), value).absolute(), ClaimsFile, known)


_CLAIMS: TypeAdapter[ClaimsFile] = TypeAdapter(ClaimsFile)


def claims_of(study: dict[str, Any]) -> list[Claim]:
    """Return the claims in a run's record of its study; most studies have none."""
    recorded = study.get("claims")
    return [] if recorded is None else _CLAIMS.validate_python(recorded, by_alias=False, by_name=True).claims
