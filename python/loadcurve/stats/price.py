"""Price and performance: what requests cost, and which server is the cheapest in each range of load."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.stats.interval import Estimate

SECONDS_PER_HOUR = 3600
MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Cost:
    """What requests cost on a machine at ``usd_per_hour`` that answers as many as it can."""

    usd_per_hour: float
    requests_per_usd: Estimate
    usd_per_million_requests: Estimate


def cost(throughput_rps: Estimate, usd_per_hour: float) -> Cost:
    """Return the cost of requests at a throughput; intervals are those of the throughput, brought along."""
    per_usd = scaled(throughput_rps, SECONDS_PER_HOUR / usd_per_hour)
    return Cost(
        usd_per_hour=usd_per_hour,
        requests_per_usd=per_usd,
        usd_per_million_requests=Estimate(
            value=MILLION / per_usd.value,
            low=MILLION / per_usd.high if per_usd.high else None,
            high=MILLION / per_usd.low if per_usd.low else None,
            n=per_usd.n,
            method=per_usd.method,
        ),
    )


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """Return an estimate in another unit."""
    low, high = (None if end is None else factor * end for end in (estimate.low, estimate.high))
    return Estimate(factor * estimate.value, low, high, estimate.n, estimate.method)


@dataclass(frozen=True, slots=True)
class Offer:
    """A server that keeps the limits up to a load, for a price."""

    server: str
    usd_per_hour: float
    up_to: float
    is_end_of_sweep: bool = False
    """The limits held at the highest load that was measured, so it may do more."""


def cheapest(offers: Sequence[Offer]) -> list[Offer]:
    """Return the offers that are the cheapest in some range of load, each from where the one before it ends.

    Of two at one price the one that does more counts; one that does not outdo a cheaper one is left out.
    """
    chosen: list[Offer] = []
    for offer in sorted(offers, key=lambda one: (one.usd_per_hour, -one.up_to)):
        if offer.up_to > (chosen[-1].up_to if chosen else 0):
            chosen.append(offer)
    return chosen
