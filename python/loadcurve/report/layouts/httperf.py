"""The layout of httperf (stat/print_reply.c and stat/basic.c of version 0.9)."""

import statistics as spread
from collections.abc import Iterator

from loadcurve.report.layouts.figures import KIB, WebPoint, statistics
from loadcurve.result.outcomes import FAILURES, STATUSES

SAMPLE_S = 5
"""httperf takes the rate of replies over samples of this length."""


def layout(point: WebPoint) -> Iterator[str]:
    """Yield the lines that httperf prints."""
    load, bytes_ = point.load, point.load.bytes
    opened = load.connections.opened or 0
    length_s = point.duration_s
    yield (
        f"Total: connections {opened} requests {load.requests.sent} replies {point.replies} "
        f"test-duration {length_s:.3f} s"
    )
    yield ""
    rate = load.connections.rate_cps or opened / length_s
    yield (
        f"Connection rate: {rate:.1f} conn/s ({1000 / rate if rate else 0:.1f} ms/conn, "
        f"<={load.connections.concurrent_max or 0} concurrent connections)"
    )
    least, mean, deviation, median, greatest = statistics(load.connections.lifetime_ms)
    yield (
        f"Connection time [ms]: min {least:.1f} avg {mean:.1f} max {greatest:.1f} median {median:.1f} "
        f"stddev {deviation:.1f}"
    )
    yield f"Connection time [ms]: connect {statistics(load.connect_ms)[1]:.1f}"
    yield f"Connection length [replies/conn]: {load.connections.replies_per_connection or 0:.3f}"
    yield ""
    sent = load.requests.sent / length_s
    yield f"Request rate: {sent:.1f} req/s ({1000 / sent if sent else 0:.1f} ms/req)"
    size = (bytes_.sent or 0) / load.requests.sent if bytes_ and load.requests.sent else 0
    yield f"Request size [B]: {size:.1f}"
    yield ""
    yield _reply_rate(point)
    response, transfer = statistics(load.first_byte_ms)[1], statistics(load.transfer_ms)[1]
    yield f"Reply time [ms]: response {response:.1f} transfer {transfer:.1f}"
    header, body = (bytes_.header or 0, bytes_.body or 0) if bytes_ else (0, 0)
    yield (
        f"Reply size [B]: header {point.per_reply(header):.1f} content {point.per_reply(body):.1f} "
        f"footer 0.0 (total {point.per_reply(header + body):.1f})"
    )
    yield "Reply status: " + " ".join(f"{name}={point.answers_of(name)}" for name in STATUSES)
    yield ""
    user, system = load.generator.cpu_user_s or 0.0, load.generator.cpu_system_s or 0.0
    shares = " ".join(
        f"{name} {100 * used / length_s:.1f}%"
        for name, used in (("user", user), ("system", system), ("total", user + system))
    )
    yield f"CPU time [s]: user {user:.2f} system {system:.2f} ({shares})"
    moved = ((bytes_.sent or 0) + (bytes_.received or 0) if bytes_ else 0) / length_s
    yield f"Net I/O: {moved / KIB:.1f} KB/s ({8e-6 * moved:.1f}*10^6 bps)"
    yield ""
    errors = {name: load.errors[name] or 0 for name in FAILURES}
    yield (
        f"Errors: total {load.requests.failed or 0} client-timo {errors['timeout']} "
        f"socket-timo {errors['connect_timeout']} connrefused {errors['connect_refused']} "
        f"connreset {errors['reset'] + errors['closed_early']}"
    )
    named = ("timeout", "connect_timeout", "connect_refused", "reset", "closed_early")
    unavailable = ("fd_unavailable", "address_unavailable")
    other = (load.requests.failed or 0) - sum(errors[name] for name in (*named, *unavailable))
    yield (
        f"Errors: fd-unavail {errors['fd_unavailable']} addrunavail {errors['address_unavailable']} "
        f"ftab-full 0 other {max(other, 0)}"
    )


def _reply_rate(point: WebPoint) -> str:
    """Return the rates of replies over whole samples; httperf has no minimum before the first is over."""
    samples: dict[int, int] = {}
    for period in point.load.series:
        samples[int(period.t_s // SAMPLE_S)] = samples.get(int(period.t_s // SAMPLE_S), 0) + period.answered
    whole = int(point.duration_s // SAMPLE_S)
    rates = [samples.get(place, 0) / SAMPLE_S for place in range(whole)]
    deviation = spread.stdev(rates) if len(rates) > 1 else 0.0
    least, mean, most = (min(rates), spread.mean(rates), max(rates)) if rates else (0.0, 0.0, 0.0)
    return (
        f"Reply rate [replies/s]: min {least:.1f} avg {mean:.1f} max {most:.1f} stddev {deviation:.1f} "
        f"({len(rates)} samples)"
    )
