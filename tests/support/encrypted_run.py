"""A run whose servers were loaded over TLS, over HTTP/2 and TLS, and in clear text, with known handshakes."""

from pathlib import Path
from typing import Any

from support import synthetic_run as synthetic

Data = dict[str, Any]
CONNECTIONS = (10, 50)
FULL_MS = {10: 0.5, 50: 2.0}
"""How long each full handshake took, by the number of connections."""
RESUMED_MS = 0.25
FULL, RESUMED = 100, 300
"""Within the window of each load, which lasts for two seconds; before it there were as many full ones."""
STREAMS, ALLOWED = 100, 32
WAITED_MS = 3.0


def tls_result(
    full: int,
    resumed: int,
    *,
    full_ms: list[float] | None = None,
    resumed_ms: list[float] | None = None,
    refused: int = 0,
    duration_s: float = synthetic.DURATION_S,
) -> Data:
    """What a load says of its handshakes, of which these were within the window; of none without times."""
    agreed = {"version": "1.3", "suite": "TLS_AES_128_GCM_SHA256", "group": "X25519MLKEM768"}
    measured = full_ms is not None or resumed_ms is not None
    return {
        "handshakes": {"full": full, "resumed": resumed},
        "measured": {
            "full_ms": synthetic.distribution(full_ms or []),
            "resumed_ms": synthetic.distribution(resumed_ms or []),
            "full_per_s": len(full_ms or []) / duration_s,
            "resumed_per_s": len(resumed_ms or []) / duration_s,
            "refused": refused,
        }
        if measured
        else None,
        "agreed": [
            agreed | {"resumed": is_resumed, "count": count}
            for is_resumed, count in ((False, full), (True, resumed))
            if count
        ],
        "protocol": "http/1.1",
        "certificate": {
            "subject": "CN=server",
            "issuer": "CN=authority",
            "key": "RSA 2048",
            "not_after": "2026-04-14",
            "chain_length": 2,
        },
    }


def http2_result(waits_ms: list[float]) -> Data:
    """What a load says of its streams, of which the server allowed fewer than it asked for."""
    return {
        "streams_allowed": {"min": ALLOWED, "max": ALLOWED},
        "connections_limited": 10,
        "stream_wait_ms": synthetic.distribution(waits_ms),
        "streams_refused": 0,
        "connections_ended": 4,
        "connections_ended_by_error": 0,
        "bodies_delayed": 0,
        "windows_used_up": 0,
        "answers_behind_long": 0,
        "answers_starved": 0,
    }


def changes_of(server: str, connections: int) -> Data:
    """What the result of a load on a server has beside that of one in clear text."""
    if server == "tiny":
        return {}
    base = synthetic.load_result(server, connections)
    if server == "apache":
        waits = [WAITED_MS] * 400
        return {
            "load": base["load"] | {"scheme": "https", "http": "2", "streams": STREAMS},
            "requests": base["requests"] | {"moved": 5},
            "tls": tls_result(10, 0, full_ms=[], resumed_ms=[]),
            "http2": http2_result(waits),
            "handshake_ms": synthetic.distribution([1.5] * 10),
        }
    every_ms = [FULL_MS[connections]] * (2 * FULL) + [RESUMED_MS] * RESUMED
    return {
        "load": base["load"] | {"scheme": "https", "full_handshakes": 0.25, "calls": 1},
        "tls": tls_result(
            2 * FULL, RESUMED, full_ms=[FULL_MS[connections]] * FULL, resumed_ms=[RESUMED_MS] * RESUMED
        ),
        "handshake_ms": synthetic.distribution(sorted(every_ms)),
    }


def write_encrypted(folder: Path) -> Path:
    """Write a run of two points: nginx over TLS, apache over HTTP/2 and TLS, tiny in clear text."""
    record = synthetic.run_record()
    records = [
        synthetic.point_record(
            connections=connections,
            trial=planned.trial,
            block=planned.block,
            server=planned.server,
            **changes_of(planned.server, connections),
        )
        for planned in record.order
        for connections in CONNECTIONS
    ]
    points = [{"connections": float(connections)} for connections in CONNECTIONS]
    return synthetic.write_run(folder, record.model_copy(update={"points": points}), list(records))
