"""The rig's ceiling as a curve, and keeping it."""

from pathlib import Path

import pytest

from loadcurve.cli import doctor
from loadcurve.host.cpus import divide_cpus
from loadcurve.result.ceiling import Ceiling, CeilingPoint, marked_at_ceiling
from loadcurve.result.load import LoadResult
from loadcurve.result.verdict import Verdict, VerdictReason
from loadcurve.runs import ceiling as run_ceiling
from loadcurve.runs.ceiling import measure_ceiling
from loadcurve.runs.kept import keep, kept
from support import synthetic_run
from support.command import Command
from support.measured_noise import RIG


def load_result(connections: int, answered_rps: float) -> LoadResult:
    rates = {"asked": None, "sent": answered_rps, "answered": answered_rps}
    return LoadResult.model_validate(synthetic_run.load_result("nginx", connections, rate_rps=rates))


def ceiling(rates_by_connections: dict[int, float]) -> Ceiling:
    return Ceiling(
        measured_at="2026-01-01T00:00:00Z",
        body_bytes=1024,
        rig=RIG,
        host={"kernel": RIG.kernel},
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
    assert kept(Ceiling, RIG) is None
    keep(measured)
    assert kept(Ceiling, RIG) == measured
    assert kept(Ceiling, RIG.model_copy(update={"kernel": "6.1"})) is None


def test_a_kept_ceiling_that_cannot_be_read_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    keep(ceiling({1: 100})).write_text("{")
    assert kept(Ceiling, RIG) is None


@pytest.mark.parametrize(
    ("connections", "answered_rps", "status", "codes"),
    [
        # The ceiling at 10 connections is 1,000 per second.
        (10, 899.0, "valid", []),
        (10, 900.0, "suspect", ["rig_ceiling"]),
        (10, 1200.0, "suspect", ["rig_ceiling"]),
        (100, 900.0, "valid", []),
    ],
)
def test_a_rate_within_a_tenth_of_the_ceiling_is_the_rigs_rather_than_the_servers(
    connections: int, answered_rps: float, status: str, codes: list[str]
) -> None:
    marked = marked_at_ceiling(load_result(connections, answered_rps), ceiling({10: 1000, 100: 2000}))
    assert marked.verdict.status == status
    assert [reason.code for reason in marked.verdict.reasons] == codes


def test_a_load_that_was_invalid_stays_invalid_at_the_ceiling() -> None:
    invalid = Verdict(status="invalid", reasons=[VerdictReason.of("errors", "half of them failed")])
    result = load_result(10, 1000.0).model_copy(update={"verdict": invalid})
    marked = marked_at_ceiling(result, ceiling({10: 1000}))
    assert marked.verdict.status == "invalid"
    assert [reason.code for reason in marked.verdict.reasons] == ["errors", "rig_ceiling"]


def test_a_pipelined_load_has_another_ceiling() -> None:
    result = load_result(10, 1000.0)
    pipelined = result.model_copy(update={"load": result.load.model_copy(update={"pipeline": 16})})
    assert marked_at_ceiling(pipelined, ceiling({10: 1000})) == pipelined


def test_the_ceiling_is_measured_at_every_number_of_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_ceiling, "CONNECTIONS", (1, 4))
    monkeypatch.setattr(run_ceiling, "DURATION_S", 0.1)
    monkeypatch.setattr(run_ceiling, "WARMUP_S", 0.0)
    begun: list[int] = []
    measured = measure_ceiling(divide_cpus(None, None), begun.append, runs=2)
    assert begun == [point.connections for point in measured.points] == [1, 4]
    assert measured.host["cpu_model"] == measured.rig.cpu_model
    assert "sysctls" in measured.host
    for point in measured.points:
        assert point.runs == 2
        assert point.lowest_requests_per_s <= point.requests_per_s <= point.highest_requests_per_s
        assert 0 < point.generator_cpu_share <= 1.1


@pytest.mark.parametrize(
    ("options", "runs", "saved"),
    [([], 3, "saved for later runs in"), (["--quick"], 1, "not saved for later")],
)
def test_a_quick_look_measures_once_at_each_load_and_leaves_the_saved_ceiling(
    options: list[str], runs: int, saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(_cpus: object, _begin_point: object, given: int) -> Ceiling:
        assert given == runs
        return ceiling({1: 100})

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(doctor, "measure_ceiling", measured)
    monkeypatch.setattr(doctor, "check_host", lambda *_: [])
    monkeypatch.setattr(doctor, "catalog_rows", lambda _: [])
    finished = Command(tmp_path).run("doctor", *options)
    assert finished.returncode == 0
    assert f"the ceiling is {saved}" in finished.stderr
    assert (tmp_path / "state").exists() == (runs > 1)


def test_a_quick_noise_is_refused(tmp_path: Path) -> None:
    finished = Command(tmp_path).run("doctor", "--quick", "--noise")
    assert finished.returncode == 2
    assert "--quick: given together with --noise, which requires all of its trials" in finished.stderr
