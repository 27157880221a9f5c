"""What h2load prints, its JSON (--output-file, from version 1.69 on) and its log of requests (--log-file)."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from loadcurve.generate.tools.counts import NS_PER_US, times_of_counts
from loadcurve.generate.tools.figures import Times, ToolFigures, Unreadable
from loadcurve.generate.tools.lines import Lines
from loadcurve.result.distribution import Distribution

_SAMPLES_MAX: Final = 1_000_000
_UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0, "min": 60_000.0, "h": 3_600_000.0}
_TIME = r"([\d.]+[a-z]+)"
_LOG_EXPECTED = "three columns: start in µs, status, time in µs"
_STATUSES = 5


def read_text(text: str, file: str, version: str | None = None) -> ToolFigures:
    """Return the figures of the text; raises ``Unreadable``."""
    lines = Lines(text, file)
    requests = (
        r"^requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, (\d+) failed, "
        r"(\d+) errored, (\d+) timeout"
    )
    counts = lines.groups(requests, 'the line "requests: … total, … started, … done, …"')
    _, _, done, succeeded, _, errored, timed_out = map(int, counts)
    length, rate = lines.groups(rf"^finished in {_TIME}, ([\d.]+) req/s", 'the line "finished in …"')
    (statuses,) = lines.groups(r"^status codes: (.+)$", 'the line "status codes:"')
    status = {name: int(count) for count, name in re.findall(r"(\d+) (\dxx)", statuses)}
    traffic = lines.groups(
        r"^traffic: \S+ \((\d+)\) total, \S+ \((\d+)\) headers .*, \S+ \((\d+)\) data", 'the line "traffic:"'
    )
    received, header, body = map(int, traffic)
    # What it has finished in includes its warm-up; its rate does not.
    is_told = succeeded > 0 and float(rate) > 0
    return _figures(
        version,
        succeeded / float(rate) if is_told else _milliseconds(length, file) / 1e3,
        (done, errored, timed_out),
        status,
        (received, header, body),
        latency=_of_text(lines, "time for request", sum(status.values()), file),
        connect=_of_text(lines, "time for connect", None, file),
        first_byte=_of_text(lines, "time to 1st byte", None, file),
    )


def read_json(text: str, file: str, version: str | None = None) -> ToolFigures:
    """Return the figures of the JSON, whose times are in s; raises ``Unreadable``."""
    try:
        measured = json.loads(text)["measurements"]
        requests, traffic, times = measured["requests"], measured["traffic"], measured["performance"]
        status = {name: int(measured["status_codes"].get(name, 0)) for name in ("2xx", "3xx", "4xx", "5xx")}
        return _figures(
            version,
            float(measured["duration"]),
            (int(requests["done"]), int(requests["errored"]), int(requests["timeout"])),
            status,
            (int(traffic["total"]), int(traffic["headers"]), int(traffic["data"])),
            latency=_of_samples(times["request"], sum(status.values())),
            connect=_of_samples(times["connect"], None),
            first_byte=_of_samples(times["ttfb"], None),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(
            file, None, f"no JSON of the form ({error})", "that of h2load, version v1"
        ) from error


def read_log(text: str, file: str) -> tuple[Times, Mapping[str, int], int]:
    """Return latencies, statuses by class and failures of the log of all requests; raises ``Unreadable``."""
    counted: Counter[int] = Counter()
    status: Counter[str] = Counter()
    failed = 0
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            _, code, time_us = map(int, line.split("\t"))
        except ValueError as error:
            read = f"{number - 1:,} requests"
            raise Unreadable(file, number, f'"{line[:200]}"', _LOG_EXPECTED, read) from error
        if code < 0:
            failed += 1
            continue
        counted[time_us] += 1
        status[f"{code // 100}xx"] += 1
    return times_of_counts(counted, NS_PER_US), dict(status), failed


def _figures(
    version: str | None,
    duration_s: float,
    ends: tuple[int, int, int],
    status: Mapping[str, int],
    bytes_: tuple[int, int, int],
    **times: Times | None,
) -> ToolFigures:
    """Return the figures; of those that are done, what has no status has failed."""
    done, errored, timed_out = ends
    answered = sum(status.values())
    received, header, body = bytes_
    # Where it has a warm-up, its counts of header and body include that, and the total does not.
    is_of_window = header + body <= received
    return ToolFigures(
        tool="h2load",
        version=version,
        basis="send",
        duration_s=duration_s,
        answered=answered,
        ok=sum(count for name, count in status.items() if name < "4"),
        failed=max(errored, timed_out, done - answered),
        errors={"timeout": timed_out},
        status={f"{first}xx": status.get(f"{first}xx", 0) for first in range(1, _STATUSES + 1)},
        latency=times["latency"],
        connect=times["connect"],
        first_byte=times["first_byte"],
        bytes_received=received,
        bytes_header=header if is_of_window else None,
        bytes_body=body if is_of_window else None,
    )


def _milliseconds(text: str, file: str) -> float:
    found = re.fullmatch(r"([\d.]+)([a-z]+)", text)
    if found is None or found[2] not in _UNITS_MS:
        raise Unreadable(file, None, f'"{text}"', "a time with its unit, such as 1.50s")
    return float(found[1]) * _UNITS_MS[found[2]]


def _of_text(lines: Lines, label: str, count: int | None, file: str) -> Times | None:
    """Return a row of the table of times: minimum, maximum, mean and deviation."""
    found = lines.optional(rf"^{label}: +{_TIME} +{_TIME} +{_TIME} +{_TIME} ")
    if found is None:
        return None
    least, most, mean, deviation = (_milliseconds(one, file) for one in found)
    if not most:
        return None
    distribution = Distribution(
        count=count or 0, min=least, mean=mean, stddev=deviation, p50=None, p75=None, p90=None, p95=None,
        p99=None, p99_9=None, p99_99=None, max=most,
    )  # fmt: skip
    return Times(distribution=distribution, completeness="summary", resolution_ms=None)


def _of_samples(times: Mapping[str, Any], answered: int | None) -> Times | None:
    """Return the times of all samples in s; beyond a million requests these are a part of them."""
    samples: Sequence[float] = times["samples"]
    if not samples:
        return None
    counted = Counter(round(sample * 1e6) for sample in samples)
    found = times_of_counts(counted, NS_PER_US)
    sampled = answered is not None and answered > len(samples)
    return Times(
        distribution=found.distribution,
        completeness="sampled" if sampled else "complete",
        resolution_ms=found.resolution_ms,
        histogram=None if sampled else found.histogram,
    )
