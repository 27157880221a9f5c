"""The layout of ab, the benchmark of Apache httpd (support/ab.c, version 2.3)."""

from collections.abc import Iterator

from loadcurve.report.layouts.figures import KIB, WebPoint, statistics
from loadcurve.result.distribution import Distribution

PERCENTILES = (50, 66, 75, 80, 90, 95, 98, 99, 100)


def layout(point: WebPoint) -> Iterator[str]:
    """Yield the lines that ab prints.

    Times of connecting are those of the requests that connected. The total is Loadcurve's latency, which
    counts from when a request was due.
    """
    load = point.load
    failed = load.requests.failed or 0
    body = (load.bytes.body or 0) if load.bytes else 0
    refused = point.answers_of("1xx", "3xx", "4xx", "5xx")
    rate = point.reply_rate_rps
    each_ms = 1000 / rate if rate else 0.0
    yield f"Benchmarking {point.host} (be patient).....done"
    yield from ("", "")
    yield f"Server Software:        {point.software}"
    yield f"Server Hostname:        {point.host}"
    yield f"Server Port:            {point.port}"
    yield ""
    yield f"Document Path:          {point.path}"
    yield f"Document Length:        {round(point.per_reply(body))} bytes"
    yield ""
    yield f"Concurrency Level:      {point.asked.connections}"
    yield f"Time taken for tests:   {point.duration_s:.3f} seconds"
    yield f"Complete requests:      {point.replies}"
    yield f"Failed requests:        {failed}"
    if failed:
        connect = (load.errors["connect_refused"] or 0) + (load.errors["connect_timeout"] or 0)
        length = load.errors["mismatch"] or 0
        rest = failed - connect - length
        yield f"   (Connect: {connect}, Receive: 0, Length: {length}, Exceptions: {rest})"
    if refused:
        yield f"Non-2xx responses:      {refused}"
    if point.asked.calls is None and load.connections.reused is not None:
        yield f"Keep-Alive requests:    {_kept_alive(point, load.connections.reused)}"
    yield f"Total transferred:      {point.received_bytes} bytes"
    yield f"HTML transferred:       {body} bytes"
    yield f"Requests per second:    {rate:.2f} [#/sec] (mean)"
    yield f"Time per request:       {each_ms * (point.asked.connections or 0):.3f} [ms] (mean)"
    yield f"Time per request:       {each_ms:.3f} [ms] (mean, across all concurrent requests)"
    yield f"Transfer rate:          {point.received_bytes / KIB / point.duration_s:.2f} [Kbytes/sec] received"
    yield ""
    yield "Connection Times (ms)"
    yield "              min  mean[+/-sd] median   max"
    yield _times("Connect:", load.connect_ms)
    yield _times("Processing:", load.service_time_ms)
    yield _times("Waiting:", load.first_byte_ms)
    yield _times("Total:", load.latency_ms)
    yield ""
    yield "Percentage of the requests served within a certain time (ms)"
    for percentile in PERCENTILES:
        longest = " (longest request)" if percentile == PERCENTILES[-1] else ""
        value = point.longest_ms if longest else point.latency_at(percentile)
        yield f" {percentile:3d}%  {round(value):5d}{longest}"


def _kept_alive(point: WebPoint, reused: int) -> int:
    """Return how many of the replies came on a connection that was open already.

    Those of the whole load are known, with its warm-up, of which the window has the same share.
    """
    replies = point.load.connections.replies
    return round(point.replies * min(1.0, reused / replies)) if replies else min(reused, point.replies)


def _times(name: str, times_ms: Distribution | None) -> str:
    least, mean, deviation, median, greatest = statistics(times_ms)
    spread = f"{round(least):5d} {round(mean):4d} {deviation:5.1f}"
    return f"{name:<12}{spread} {round(median):6d} {round(greatest):7d}"
