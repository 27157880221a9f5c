"""The rig's ceiling as a curve, and keeping it."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from loadcurve.cli import doctor
from loadcurve.errors import BadInput
from loadcurve.host.cpus import divide_cpus
from loadcurve.loads.record import CallsAsRun
from loadcurve.report.doctor import ceiling_tables
from loadcurve.result.load import LoadResult
from loadcurve.result.outcomes import Verdict, VerdictReason
from loadcurve.result.rig import Ceiling, CeilingPoint, Spoken, marked_at_ceiling
from loadcurve.runs import ceiling as run_ceiling
from loadcurve.runs.ceiling import SPOKEN_IN_MESSAGES, measure_ceiling, spoken_by
from loadcurve.runs.rig_cache import keep, kept
from loadcurve.tools.catalog import Tool, tools
from support import synthetic_run
from support.command import Command
from support.measured_noise import RIG
from support.tool_record import WRK


def load_result(connections: int, answered_rps: float, **spoken: object) -> LoadResult:
    rates = {"asked": None, "sent": answered_rps, "answered": answered_rps}
    result = LoadResult.model_validate(synthetic_run.load_result("nginx", connections, rate_rps=rates))
    return result.model_copy(update={"load": result.load.model_copy(update=spoken)})


def points(rates_by_connections: dict[int, float], **spoken: Any) -> list[CeilingPoint]:
    return [
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
            **spoken,
        )
        for connections, rate in rates_by_connections.items()
    ]


def ceiling(rates_by_connections: dict[int, float], *others: CeilingPoint) -> Ceiling:
    return Ceiling(
        measured_at="2026-01-01T00:00:00Z",
        body_bytes=1024,
        rig=RIG,
        host={"kernel": RIG.kernel},
        points=[*points(rates_by_connections), *others],
    )


def level(measured: Ceiling, connections: int, **spoken: object) -> float | None:
    curve = measured.curve_of(load_result(1, 1.0, **spoken))
    return None if curve is None else curve.requests_per_s_at(connections)


@pytest.mark.parametrize(
    ("connections", "expected"), [(1, 100), (10, 1000), (55, 1500), (100, 2000), (5000, 2000)]
)
def test_between_measured_numbers_of_connections_the_ceiling_is_a_straight_line(
    connections: int, expected: float
) -> None:
    assert level(ceiling({1: 100, 10: 1000, 100: 2000}), connections) == expected


OF_TLS = {"scheme": "https"}
OF_HTTP2: dict[str, Any] = {"http": "2"}
OF_BOTH = OF_TLS | OF_HTTP2
ALL_SPOKEN = ceiling(
    {10: 1000},
    *points({10: 600}, **OF_TLS),
    *points({10: 900, 100: 1900}, streams=1, **OF_HTTP2),
    *points({10: 5000, 100: 7000}, streams=11, **OF_HTTP2),
    *points({10: 4000, 1000: 1_234_567}, streams=1, **OF_BOTH),
)


@pytest.mark.parametrize(
    ("connections", "spoken", "expected"),
    [
        (10, {}, 1000),
        (10, {"http": "1.0"}, 1000),
        (10, OF_TLS, 600),
        (10, OF_HTTP2, 900),
        (10, OF_BOTH, 4000),
        # Between one stream and eleven, and between 10 connections and 100: halfway in both.
        (55, OF_HTTP2 | {"streams": 6}, (1400 + 6000) / 2),
        (10, OF_HTTP2 | {"streams": 1000}, 5000),
        (10, {"pipeline": 2}, None),
    ],
)
def test_each_load_has_the_ceiling_of_what_it_speaks(
    connections: int, spoken: dict[str, object], expected: float | None
) -> None:
    assert level(ALL_SPOKEN, connections, **spoken) == expected


def calls(kind: str | None) -> dict[str, object]:
    return OF_HTTP2 | {"messages": "grpc", "grpc": CallsAsRun.model_validate({"call": kind})}


WEBSOCKET: dict[str, Any] = {"messages": "websocket"}
WITH_MESSAGES = ceiling(
    {10: 1000},
    *points({10: 900}, **OF_HTTP2),
    *points({10: 3000}, **WEBSOCKET),
    *points({10: 4000}, **WEBSOCKET, **OF_HTTP2),
    *points({10: 5000}, messages="unary", **OF_HTTP2),
    *points({10: 6000}, messages="bidirectional", **OF_HTTP2),
)


@pytest.mark.parametrize(
    ("spoken", "expected"),
    [
        ({}, 1000),
        (WEBSOCKET, 3000),
        (WEBSOCKET | OF_HTTP2, 4000),
        (WEBSOCKET | OF_TLS, None),
        (calls("unary"), 5000),
        (calls("bidirectional"), 6000),
        # How many messages an answer has decides how many answers there are.
        (calls("server_stream"), None),
        (calls("client_stream"), None),
        # A record of an older version does not say it.
        (calls(None), None),
        ({"messages": "events"}, None),
        (WEBSOCKET | {"subscribers": 100}, None),
    ],
)
def test_each_kind_of_messages_that_are_answered_by_one_has_its_own_ceiling(
    spoken: dict[str, object], expected: float | None
) -> None:
    assert level(WITH_MESSAGES, 10, **spoken) == expected


def test_messages_have_no_ceiling_where_only_that_of_requests_was_measured() -> None:
    faster = load_result(10, 5000.0, **WEBSOCKET)
    assert marked_at_ceiling(faster, ceiling({10: 1000})) == faster


@pytest.mark.parametrize(
    ("spoken", "said"),
    [(WEBSOCKET, "2,900 messages per second are 97 % of the 3,000"), (calls("unary"), None)],
)
def test_a_load_of_messages_is_marked_at_their_ceiling(spoken: dict[str, object], said: str | None) -> None:
    marked = marked_at_ceiling(load_result(10, 2900.0, **spoken), WITH_MESSAGES)
    texts = [reason.text for reason in marked.verdict.reasons]
    assert [said in text for text in texts if said] == ([True] if said else [])
    assert bool(texts) == (said is not None)


def test_what_was_not_measured_has_no_ceiling() -> None:
    assert level(ceiling({10: 1000}), 10, **OF_TLS) is None
    over_http2 = load_result(10, 5000.0, **OF_HTTP2)
    assert marked_at_ceiling(over_http2, ceiling({10: 1000})) == over_http2


@pytest.mark.parametrize(
    ("answered_rps", "spoken", "said"),
    [
        (600.0, OF_TLS, "the 600 that this rig reaches with 10 connections over TLS against"),
        (600.0, {}, None),
        (900.0, OF_HTTP2, "the 900 that this rig reaches with 10 connections of 1 stream against"),
        (3000.0, OF_BOTH, None),
        (4000.0, OF_BOTH, "with 10 connections of 1 stream over TLS against"),
    ],
)
def test_a_load_is_marked_at_the_ceiling_of_what_it_speaks(
    answered_rps: float, spoken: dict[str, object], said: str | None
) -> None:
    marked = marked_at_ceiling(load_result(10, answered_rps, **spoken), ALL_SPOKEN)
    texts = [reason.text for reason in marked.verdict.reasons]
    assert [said in text for text in texts if said] == ([True] if said else [])
    assert bool(texts) == (said is not None)


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


def sent_by_tool(result: LoadResult, version: str | None) -> LoadResult:
    return result.model_copy(update={"tool": WRK.model_copy(update={"version": version})})


OF_ENGINE_AND_WRK = ceiling({10: 2000}, *points({10: 1000}, generator="wrk", generator_version="4.1.0"))


@pytest.mark.parametrize(
    ("version", "answered_rps", "marks"),
    [("4.1.0", 899.0, False), ("4.1.0", 900.0, True), ("4.2.0", 2000.0, False), (None, 2000.0, False)],
)
def test_a_load_of_another_generator_has_the_ceiling_of_that_version(
    version: str | None, answered_rps: float, marks: bool
) -> None:
    marked = marked_at_ceiling(sent_by_tool(load_result(10, answered_rps), version), OF_ENGINE_AND_WRK)
    texts = [reason.text for reason in marked.verdict.reasons]
    assert bool(texts) == marks
    assert all("the 1,000 that wrk 4.1.0 reaches on this rig with 10 connections" in one for one in texts)


def test_the_engine_has_its_own_ceiling_beside_that_of_another_generator() -> None:
    assert level(OF_ENGINE_AND_WRK, 10) == 2000
    assert level(ceiling({10: 2000}, *OF_ENGINE_AND_WRK.points[1:]), 10) == 2000


def test_the_kept_ceilings_of_generators_stay_beside_a_newer_one_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    older, newer = (points({10: rate}, generator="wrk", generator_version="4.1.0") for rate in (900, 1000))
    for measured in (ceiling({10: 1500}, *older), ceiling({10: 2000})):
        keep(measured)
    keep(measured.model_copy(update={"points": newer}))
    found = kept(Ceiling, RIG)
    assert found is not None
    assert {(one.generator, one.requests_per_s) for one in found.points} == {("engine", 2000), ("wrk", 1000)}


def test_the_kept_ceiling_of_requests_stays_beside_a_newer_one_of_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    older = ceiling({10: 1500}, *points({10: 2000}, **WEBSOCKET))
    keep(older)
    keep(older.model_copy(update={"points": points({10: 2500}, **WEBSOCKET)}))
    found = kept(Ceiling, RIG)
    assert found is not None
    assert {(one.messages, one.requests_per_s) for one in found.points} == {(None, 1500), ("websocket", 2500)}


@pytest.mark.parametrize("change", [{"pipeline": 16}, {"calls": 1}, {"model": "sessions"}])
def test_loads_that_pipeline_or_make_new_connections_have_another_ceiling(change: dict[str, object]) -> None:
    result = load_result(10, 1000.0)
    other = result.model_copy(update={"load": result.load.model_copy(update=change)})
    assert marked_at_ceiling(other, ceiling({10: 1000})) == other


def test_the_ceiling_is_measured_over_all_that_is_spoken_at_every_load(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_ceiling, "CONNECTIONS", (1, 4))
    monkeypatch.setattr(run_ceiling, "STREAMS", (1, 3))
    monkeypatch.setattr(run_ceiling, "REQUESTS_AT_ONCE_MAX", 4)
    monkeypatch.setattr(run_ceiling, "DURATION_S", 0.2)
    monkeypatch.setattr(run_ceiling, "WARMUP_S", 0.0)
    begun: list[tuple[Spoken, int, int]] = []
    measured = measure_ceiling(
        divide_cpus(None, None),
        lambda load: begun.append((load.spoken, load.connections, load.streams)),
        runs=2,
    )
    expected = [
        *[(Spoken("1.1", scheme), connections, 1) for scheme in ("http", "https") for connections in (1, 4)],
        *[
            (Spoken("2", scheme), connections, streams)
            for scheme in ("http", "https")
            # Four connections of three streams are more than may be under way.
            for connections, streams in ((1, 1), (4, 1), (1, 3))
        ],
        # HTTP/3 is never in clear text.
        *[(Spoken("3", "https"), connections, streams) for connections, streams in ((1, 1), (4, 1), (1, 3))],
    ]
    assert begun == expected
    assert [(point.spoken, point.connections, point.streams) for point in measured.points] == expected
    assert measured.host["cpu_model"] == measured.rig.cpu_model
    assert "sysctls" in measured.host
    for point in measured.points:
        assert point.runs == 2
        assert point.lowest_requests_per_s <= point.requests_per_s <= point.highest_requests_per_s
        assert 0 < point.generator_cpu_share <= 1.1
        assert point.verdict.status != "invalid", point.verdict


def test_the_ceiling_of_messages_is_measured_over_all_that_they_are_sent_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_ceiling, "CONNECTIONS", (2,))
    monkeypatch.setattr(run_ceiling, "STREAMS", (3,))
    monkeypatch.setattr(run_ceiling, "DURATION_S", 0.2)
    monkeypatch.setattr(run_ceiling, "WARMUP_S", 0.0)
    asked = [one for kind in SPOKEN_IN_MESSAGES.values() for one in kind]
    assert [(one.http, one.scheme, one.messages) for one in asked] == [
        *[(http, scheme, "websocket") for http in ("1.1", "2") for scheme in ("http", "https")],
        *[("2", scheme, kind) for kind in ("unary", "bidirectional") for scheme in ("http", "https")],
        ("3", "https", "unary"),
    ]
    measured = measure_ceiling(divide_cpus(None, None), runs=1, spoken=asked)
    assert [point.spoken for point in measured.points] == asked
    for point in measured.points:
        assert point.verdict.status != "invalid", point.verdict


def test_the_doctor_shows_the_ceiling_of_each_that_is_spoken() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(ceiling_tables(ALL_SPOKEN))
    shown = console.export_text()
    titles = [
        line for line in shown.splitlines() if line in {"HTTP/1.1", "HTTPS", "HTTP/2", "HTTP/2 over TLS"}
    ]
    assert titles == ["HTTP/1.1", "HTTPS", "HTTP/2", "HTTP/2 over TLS"]
    assert shown.count("streams") == 2
    assert "7,000" in shown
    assert "1,234,567" in shown
    assert "…" not in shown, "all of it fits into a terminal of 80 columns"


@pytest.mark.parametrize(
    ("options", "expected", "saved"),
    [
        ([], (3, ["HTTP/1.1", "HTTPS", "HTTP/2", "HTTP/2 over TLS", "HTTP/3"]), "saved for later runs in"),
        (["--quick"], (1, ["HTTP/1.1"]), "not saved for later"),
        (
            ["--messages", "websocket"],
            (
                3,
                ["WebSocket", "WebSocket over TLS", "WebSocket over HTTP/2", "WebSocket over HTTP/2 and TLS"],
            ),
            "saved for later runs in",
        ),
        (
            ["--messages", "grpc", "--quick"],
            (1, ["unary calls of gRPC"]),
            "each load, over unary calls of gRPC only",
        ),
    ],
)
def test_a_quick_look_measures_the_first_of_all_once_at_each_load_and_leaves_the_saved_ceiling(
    options: list[str],
    expected: tuple[int, list[str]],
    saved: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def measured(
        _cpus: object, _begin_point: object, runs: int, spoken: Sequence[Spoken], tool: Tool | None
    ) -> Ceiling:
        assert (runs, [one.title for one in spoken], tool) == (*expected, None)
        return ceiling({1: 100})

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(doctor, "measure_ceiling", measured)
    monkeypatch.setattr(doctor, "check_host", lambda *_: [])
    monkeypatch.setattr(doctor, "catalog_rows", lambda _: [])
    finished = Command(tmp_path).run("doctor", *options)
    assert finished.returncode == 0
    assert "the ceiling is " in finished.stderr
    assert saved in finished.stderr
    assert (tmp_path / "state").exists() == ("--quick" not in options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--generator", "wkr"], 'did you mean "wrk"?'),
        (["--generator", "wrk", "--no-ceiling"], "--generator names whose ceiling is measured"),
        (["--generator", "wrk", "--machine", "web"], "--generator: for this machine"),
        (["--messages", "grpc", "--no-ceiling"], "--messages says what ceiling is measured"),
        (["--messages", "grpc", "--generator", "wrk"], "remove it or --generator, which sends none"),
        (["--messages", "websocket", "--machine", "web"], "--messages: for this machine"),
    ],
)
def test_a_generator_that_has_no_ceiling_to_be_measured_is_refused(
    options: list[str], said: str, tmp_path: Path
) -> None:
    finished = Command(tmp_path).run("doctor", *options)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert said in finished.stderr


def test_a_generator_without_closed_loops_has_no_ceiling_over_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Tool, "require_installed", lambda _: Path("/usr/bin/wrk2"))
    with pytest.raises(BadInput, match="wrk2: sends no closed loops"):
        spoken_by(tools()["wrk2"])
    assert spoken_by(tools()["wrk"]) == [Spoken("1.1", "http")]
    assert spoken_by(tools()["ab"]) == [Spoken("1.1", "http")]
    assert spoken_by(tools()["h2load"]) == [Spoken("1.1", "http"), Spoken("2", "http")]


def test_a_quick_noise_is_refused(tmp_path: Path) -> None:
    finished = Command(tmp_path).run("doctor", "--quick", "--noise")
    assert finished.returncode == 2
    assert "--quick: given together with --noise, which requires all of its trials" in finished.stderr
