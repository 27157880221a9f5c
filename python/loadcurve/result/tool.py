"""How another load generator than the engine was driven, and what its figures are."""

from typing import Literal

from loadcurve.record import Count, Many, Record, Time


class RequestSent(Record):
    """A request as a tool sends it, looked at before the load."""

    bytes: Count
    """Of its whole head; the requests of driven tools have no body."""
    user_agent: str | None
    """The value of ``User-Agent``; ``None`` where it sends none."""


class ToolRecord(Record):
    """The tool that has sent a load, and what it reports."""

    name: str
    """That of ``loadcurve generators``, such as ``wrk``."""
    version: str | None
    """``None`` where it does not tell it."""
    command: Many[str]
    """The program and its arguments, exactly as it was started; none of an imported load."""
    latency_basis: Literal["due", "send"]
    """Whether a latency begins when its request was due, or when it was sent."""
    resolution_ms: Time | None
    """The step between two latencies that it can tell apart; ``None`` where that is not known."""
    completeness: Literal["complete", "sampled", "percentiles", "summary"]
    """Whether every latency is known, those of a sample, some percentiles, or a mean and extremes alone."""
    warmup: Literal["none", "own", "separate"] | None
    """Whether there was a warm-up: a feature of the tool, or a process of it that was ended before the
    measured one began, whose connections are new; ``None`` where that is not known."""
    interrupted_after_s: Time | None = None
    """When it was interrupted, as it has no end by a duration, or takes whole seconds alone and its load has
    another length."""
    request: RequestSent | None = None
    """What a request of it looks like; ``None`` over HTTP/2, and of an imported load."""
    not_measured: Many[str]
    """What it does not measure."""
