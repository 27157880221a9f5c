"""Prices of machines in a site's folder, and what requests cost by them; without the file, no page has any.

What a server costs at a fixed rate is its share of the machine: the price of the CPU time of a million
requests, where an hour of each CPU costs the machine's hour over its CPUs.
"""

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from loadcurve.report.site.values import Interval
from loadcurve.result.publication import PublishedRun
from loadcurve.stats.price import MILLION, SECONDS_PER_HOUR
from loadcurve.toml.document import TomlDocument, TomlTable
from loadcurve.toml.expected import Expected
from loadcurve.toml.values import Text

PRICES_FILE: Final = "prices.toml"
FIXED_RATE: Final = "open"
"""The model of a load whose rate is the study's and not the server's."""
COST: Final = "cost_per_million_requests"

PricePerHour = Annotated[
    float, Field(gt=0, le=1e6, allow_inf_nan=False), Expected("a price per hour above 0, such as 0.0464")
]


class PriceTable(TomlTable):
    """What a site's ``prices.toml`` says."""

    currency: Annotated[
        str, Field(pattern="^[A-Z]{3}$"), Expected('a currency of three letters, such as "USD"')
    ]
    date: Annotated[datetime.date, Expected("the date of the prices, such as 2026-11-01")]
    source: Text
    """Where they were read."""
    machines: Annotated[
        dict[str, PricePerHour],
        Field(min_length=1),
        Expected("prices per hour by the machine's name in the addresses of the site"),
    ]


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a run's machine."""

    currency: str
    per_hour: float
    per_cpu_hour: float
    date: str
    source: str

    @property
    def heading(self) -> str:
        """What is over the column of costs."""
        return f"cost of a million requests, {self.currency}"

    def cost(self, cpu_per_request: Interval | None) -> "Cost | None":
        """Return what a million requests cost, by the CPU time of one in seconds."""
        if cpu_per_request is None or cpu_per_request.value is None:
            return None
        per_second = MILLION * self.per_cpu_hour / SECONDS_PER_HOUR
        low, high = cpu_per_request.low, cpu_per_request.high
        return Cost(
            cpu_per_request.value * per_second,
            None if low is None else low * per_second,
            None if high is None else high * per_second,
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost with its interval, that of the CPU time."""

    value: float | None
    low: float | None
    high: float | None


def read_prices(site: Path) -> PriceTable | None:
    """Return the prices of a site's folder; ``None`` where it has none.

    Raises ``BadInput``: the file cannot be read as prices; the text names its lines.
    """
    path = site / PRICES_FILE
    return TomlDocument.read(path).to_model(PriceTable) if path.exists() else None


def price_of(run: PublishedRun, prices: PriceTable | None) -> Price | None:
    """Return the price of a run's machine; ``None`` where none is known, or the run has no fixed rate."""
    per_hour = None if prices is None else prices.machines.get(run.machine.slug)
    if prices is None or per_hour is None or not run.machine.cpus or run.load.get("model") != FIXED_RATE:
        return None
    return Price(
        prices.currency, per_hour, per_hour / run.machine.cpus, prices.date.isoformat(), prices.source
    )
