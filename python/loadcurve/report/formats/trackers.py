"""Figures of a run or a history for tools that keep them over time, each in the form that its reader takes.

Sources: github-action-benchmark's ``extract.ts`` (``customBiggerIsBetter``, ``customSmallerIsBetter``),
Bencher Metric Format (bencher.dev/docs/reference/bencher-metric-format), and OpenMetrics 1.0.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from loadcurve import units
from loadcurve.report import text
from loadcurve.result.history import HistoryEntry, HistoryFigure, of_conditions
from loadcurve.result.measures import MEASURES, Better, Measure

_OF_COLUMN: Mapping[str, Measure] = {one.column: one for one in MEASURES.values()}
_NO_LABEL = re.compile(r"[^a-zA-Z0-9_]")
_OWN_LABELS = frozenset({"study", "conditions", "machine", "hardware"})
_DIGEST_CHARACTERS = 12
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def github_benchmark(figures: Iterable[HistoryFigure], better: Better) -> bytes:
    """Return the figures where higher is better, or those where lower is, as a JSON array."""
    return _json(
        [
            {
                "name": f"{one.arm}: {measure.title} {text.at_point(one.point)}",
                "unit": measure.unit,
                "value": one.value,
                **_range(one),
            }
            for one in figures
            if (measure := _OF_COLUMN[one.measure]).better == better
        ]
    )


def _range(one: HistoryFigure) -> dict[str, str]:
    if one.low is None or one.high is None:
        return {}
    return {"range": f"{units.number(one.low)} to {units.number(one.high)}"}


def bencher(figures: Iterable[HistoryFigure]) -> bytes:
    """Return the figures as Bencher Metric Format: by server and point, by measure."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for one in figures:
        ends = {"lower_value": one.low, "upper_value": one.high}
        known = {name: end for name, end in ends.items() if end is not None}
        name = f"{one.arm} {text.at_point(one.point)}"
        found.setdefault(name, {})[one.measure.replace("_", "-")] = {"value": one.value, **known}
    return _json(found)


def _json(value: Any) -> bytes:  # noqa: ANN401 -- whatever JSON has
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


@dataclass(frozen=True, slots=True)
class MetricSample:
    """A figure with what tells it from others, and the moment, in seconds since 1970, where it is kept."""

    figure: HistoryFigure
    labels: Mapping[str, str]
    at_s: float | None = None


def run_samples(figures: Iterable[HistoryFigure], study: str) -> Iterator[MetricSample]:
    """Yield the figures of a run of a study, without a moment: Prometheus takes that of its visit."""
    return (MetricSample(one, {**_labels(one), "study": study}) for one in figures)


def history_samples(entries: Iterable[HistoryEntry]) -> Iterator[MetricSample]:
    """Yield all figures of a history at the moments of their runs, a series for each study and machine.

    A study is named by its newest title. What tells those of one name apart, and machines, are the digests
    of load and content, and of the hardware, by which runs are joined elsewhere.
    """
    for conditions, of_study in of_conditions(entries).items():
        for entry in of_study:
            at_s = datetime.fromisoformat(entry.started_at).timestamp()
            own = {
                "study": of_study[-1].title,
                "conditions": conditions[:_DIGEST_CHARACTERS],
                "machine": entry.machine.name,
                "hardware": (entry.machine.fingerprint or "")[:_DIGEST_CHARACTERS],
            }
            for one in entry.figures:
                yield MetricSample(one, {**_labels(one), **own}, at_s)


def _labels(one: HistoryFigure) -> dict[str, str]:
    labels = {"server": one.arm}
    for key, value in one.point.items():
        name = _NO_LABEL.sub("_", key)
        taken = name in labels or not name[:1].isalpha() or name in _OWN_LABELS
        labels[f"point_{name}" if taken else name] = units.setting(value)
    return labels


def openmetrics(samples: Iterable[MetricSample]) -> bytes:
    """Return the text of OpenMetrics: a gauge for each measure, and one for each end of its interval."""
    families: dict[str, dict[tuple[tuple[str, str], ...], list[tuple[float, float | None]]]] = {}
    for sample in samples:
        key = tuple(sample.labels.items())
        for end in ("value", "low", "high"):
            value: float | None = getattr(sample.figure, end)
            name = f"loadcurve_{sample.figure.measure}" + ("" if end == "value" else f"_{end}")
            if value is not None:
                series = families.setdefault(name, {}).setdefault(key, [])
                # Two runs that began in one moment would be one sample with two values.
                if not series or series[-1][1] != sample.at_s:
                    series.append((value, sample.at_s))
    return "".join([*_lines(families), "# EOF\n"]).encode()


def _lines(
    families: Mapping[str, Mapping[tuple[tuple[str, str], ...], list[tuple[float, float | None]]]],
) -> Iterator[str]:
    for name, series in families.items():
        yield f"# TYPE {name} gauge\n# HELP {name} {_help(name)}\n"
        for labels, values in series.items():
            shown = ",".join(f'{label}="{value.translate(_ESCAPED)}"' for label, value in labels)
            for value, at_s in values:
                yield f"{name}{{{shown}}} {value!r}{'' if at_s is None else f' {at_s!r}'}\n"


def _help(name: str) -> str:
    column = name.removeprefix("loadcurve_")
    for end, words in (
        ("_low", "lower end of its 95 % interval"),
        ("_high", "upper end of its 95 % interval"),
    ):
        if column not in _OF_COLUMN and column.endswith(end):
            return f"{_OF_COLUMN[column.removesuffix(end)].heading}: {words}"
    return _OF_COLUMN[column].heading
