"""What the layouts of other load generators share: figures of one load under the names they need."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from loadcurve.errors import BadInput
from loadcurve.loads.record import HttpAsRun
from loadcurve.result.distribution import Distribution, merged_curve
from loadcurve.result.load import LoadResult
from loadcurve.result.records import PointRecord

KIB = 1024


@dataclass(frozen=True, slots=True)
class WebPoint:
    """One load on a web server."""

    server: str
    """Its name in the study."""
    software: str
    """What it is, with its version."""
    load: LoadResult
    asked: HttpAsRun
    latency: Sequence[tuple[float, float]]
    """Percentile, 0 to 100, and latency in ms of each value of its histogram, rising."""

    @property
    def host(self) -> str:
        """The host of the load's address, without the port."""
        address = self.asked.address or "unknown"
        return urlsplit(f"//{address}").hostname or address

    @property
    def port(self) -> int:
        """The port of the load's address."""
        return urlsplit(f"//{self.asked.address}").port or 80

    @property
    def path(self) -> str:
        """The first path that is asked for."""
        return self.asked.requests[0].partition(" ")[2] or self.asked.requests[0]

    @property
    def duration_s(self) -> float:
        """The length of the window; never zero."""
        return max(self.load.duration_s, 1e-9)

    @property
    def received_bytes(self) -> int:
        """The bytes of the answers."""
        return (self.load.bytes.received or 0) if self.load.bytes else 0

    @property
    def reply_rate_rps(self) -> float:
        """Answers per second of the window."""
        rate = self.load.rate_rps.answered
        return self.replies / self.duration_s if rate is None else rate

    @property
    def replies(self) -> int:
        """How many requests were answered."""
        return self.load.requests.answered

    def answers_of(self, *classes: str) -> int:
        """Return how many answers have a status of these classes."""
        return 0 if self.load.status is None else sum(self.load.status[name] for name in classes)

    def per_reply(self, total: float) -> float:
        """Return a total divided by the answers; 0 without any."""
        return total / self.replies if self.replies else 0.0

    def latency_at(self, percentile: float) -> float:
        """Return the latency in ms that a percentage of the requests does not exceed; 0 without any."""
        return next((value for at, value in self.latency if at >= percentile), self.longest_ms)

    @property
    def longest_ms(self) -> float:
        """The longest latency; 0 without any."""
        return self.load.latency_ms.max or 0.0


def web_point(record: PointRecord, software: str) -> WebPoint:
    """Return the load of a point.

    Raises ``BadInput``: it is one on a database, or its histogram cannot be read.
    """
    load = record.load
    if not isinstance(load.load, HttpAsRun):
        raise BadInput(
            "the formats of ab, httperf and wrk2 support only loads on web servers; this one is on a database"
        )
    histogram = load.histograms.latency
    name = f"the latency histogram of trial {record.trial}"
    latency = [] if histogram is None else merged_curve([histogram], name)
    return WebPoint(record.server, software, load, load.load, latency)


def statistics(times_ms: Distribution | None) -> tuple[float, float, float, float, float]:
    """Return least, mean, standard deviation, median and greatest in ms; 0 of what was not measured."""
    if times_ms is None:
        return (0.0, 0.0, 0.0, 0.0, 0.0)
    given = (times_ms.min, times_ms.mean, times_ms.stddev, times_ms.p50, times_ms.max)
    least, mean, deviation, median, greatest = (value or 0.0 for value in given)
    return least, mean, deviation, median, greatest
