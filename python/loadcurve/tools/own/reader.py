"""What ``loadcurve load --json`` prints, as a file: a whole result, which stays as it is."""

import re
from collections.abc import Iterator

from loadcurve.loads.record import HttpAsRun, LoadAsRun
from loadcurve.result.histograms import NoHistogramError, decoded
from loadcurve.result.load import LoadResult
from loadcurve.result.other_formats import load_as_today
from loadcurve.tools.figures import Asked, ToolFigures
from loadcurve.tools.source import Source, json_of

TOOL = "loadcurve"
_WHAT = "the result of a load, as loadcurve load --json prints it"
_BEGIN = re.compile(rb'\s*\{\s*"format":\s*"loadcurve-load/')


def is_json(head: bytes) -> bool:
    """Say whether a file begins as the result of a load."""
    return _BEGIN.match(head) is not None


def read_json(source: Source) -> ToolFigures:
    """Return the figures of a result, and the result itself; raises ``Unreadable``."""
    result = json_of(source, LoadResult, _WHAT, today=load_as_today)
    if result.tool is not None:
        raise source.unreadable(None, f"a load that {result.tool.name} sent", "one that our own engine sent")
    for histogram in _histograms(result):
        try:
            decoded(histogram)
        except NoHistogramError as error:
            raise source.unreadable(None, f"a histogram that cannot be read ({error})", _WHAT) from error
    requests = result.requests
    return ToolFigures(
        tool=TOOL,
        basis="due",
        duration_s=result.duration_s,
        answered=requests.answered,
        failed=requests.failed,
        never_sent=requests.never_sent,
        ok=requests.ok,
        asked=_asked(result.load),
        # The monotonic clock of another machine, or of another start of this one, says nothing here.
        measured=result.model_copy(update={"window_start_monotonic_s": None}),
    )


def _histograms(result: LoadResult) -> Iterator[str]:
    """Yield the histograms of a result."""
    whole = result.histograms
    every = (whole.latency, whole.service_time, whole.connect, whole.first_byte, whole.transfer)
    yield from (one for one in every if one is not None)
    yield from (one.latency_histogram for one in result.series if one.latency_histogram is not None)


def _asked(load: LoadAsRun) -> Asked:
    """Return what was asked for, as far as it is numbers: a rate may change while the load runs."""
    rate = load.rate_rps if isinstance(load.rate_rps, int | float) else None
    is_web = isinstance(load, HttpAsRun)
    new = load.connection_rate_cps if is_web else None
    return Asked(
        target=load.address,
        connections=load.connections,
        rate_rps=rate,
        connection_rate_cps=new if isinstance(new, int | float) else None,
        threads=load.threads,
        streams=load.streams if is_web and load.streams > 1 else None,
    )
