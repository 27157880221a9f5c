"""The rig's ceiling as a curve, and keeping it."""

from pathlib import Path

import pytest

from loadcurve.result.ceiling import Ceiling, CeilingPoint, Rig
from loadcurve.result.load import Verdict
from loadcurve.run.ceiling import keep_ceiling, kept_ceiling

RIG = Rig(
    cpu_model="a processor",
    kernel="6.0",
    loadcurve_version="0",
    server_cpus=(0,),
    load_cpus=(1,),
    io="uring",
)


def ceiling(rates_by_connections: dict[int, float]) -> Ceiling:
    return Ceiling(
        measured_at="2026-01-01T00:00:00Z",
        body_bytes=1024,
        rig=RIG,
        points=[
            CeilingPoint(
                connections=connections,
                runs=3,
                requests_per_s=rate,
                lowest_requests_per_s=rate,
                highest_requests_per_s=rate,
                p50_ms=1.0,
                p99_ms=None,
                generator_cpu_share=0.5,
                verdict=Verdict(status="valid", reasons=[]),
            )
            for connections, rate in rates_by_connections.items()
        ],
    )


@pytest.mark.parametrize(
    ("connections", "expected"), [(1, 100), (10, 1000), (55, 1500), (100, 2000), (5000, 2000)]
)
def test_between_measured_numbers_of_connections_the_ceiling_is_a_straight_line(
    connections: int, expected: float
) -> None:
    assert ceiling({1: 100, 10: 1000, 100: 2000}).requests_per_s_at(connections) == expected


def test_a_ceiling_is_kept_for_its_own_rig_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    measured = ceiling({1: 100})
    assert kept_ceiling(RIG) is None
    keep_ceiling(measured)
    assert kept_ceiling(RIG) == measured
    assert kept_ceiling(RIG.model_copy(update={"kernel": "6.1"})) is None


def test_a_kept_ceiling_that_cannot_be_read_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    keep_ceiling(ceiling({1: 100})).write_text("{")
    assert kept_ceiling(RIG) is None
