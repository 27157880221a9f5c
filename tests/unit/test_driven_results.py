"""A load that another tool has sent: its record, its verdict, and the reports of it in every form."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy
import pytest

from loadcurve._engine import KernelCounters
from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.report.formats.write import FORMATS, write_formats
from loadcurve.report.load import load_summary
from loadcurve.result.generator import Kernel
from loadcurve.result.load import LoadResult
from loadcurve.result.measures import wrong_answers
from loadcurve.tools.driven import CpuMeter
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.process import CpuTime
from loadcurve.tools.results import Seen, result_of, window_began_s
from loadcurve.tools.samples import times_of
from loadcurve.tools.source import Source
from loadcurve.tools.wrk.driver import read_report
from support import synthetic_run as synthetic
from support.terminal import printed
from support.tool_record import WRK

LOAD = ClosedLoad.model_validate(
    {"model": "closed", "requests": ["/a"], "connections": 2, "duration": "1s", "generator": "wrk"}
)
PLAN = HttpPlan(load=LOAD, address="127.0.0.1:80", authority="127.0.0.1:80", threads=1, cpus=(0,))
TOOL = WRK.model_copy(update={"command": ["wrk", "-c", "2"], "not_measured": ["connections"]})
REPORT = (
    'loadcurve {"duration_us":1000000,"requests":2000,"bytes":9,"connect":0,"read":0,"write":0,'
    '"status":0,"timeout":0,"latencies":[[1000,2000]]}'
)
"""2,000 requests of 1 ms each: two connections that were never idle for a second."""


def test_the_kernels_counters_are_those_since_an_earlier_moment():
    earlier = KernelCounters()
    assert Kernel.model_validate_json(earlier.since(earlier)).retransmits == 0


def seen(cpu_s: float = 0.5, *, waits_busily: bool = False) -> Seen:
    kernel = Kernel(syn_retransmits=0, retransmits=0, listen_overflows=0, listen_drops=0)
    return Seen(
        began_s=100.0,
        interrupted=False,
        cpu=CpuTime(cpu_s, 0.0, 12.4),
        threads=1,
        cpus=1,
        waits_busily=waits_busily,
        withheld={"steal_share": None, "throttling": None},
        kernel=kernel,
    )


def figures(**changes: object) -> ToolFigures:
    with TemporaryDirectory() as folder:
        file = Path(folder, "stdout")
        file.write_text(REPORT)
        given = vars(read_report(Source(file), connections=2)) | changes
    return ToolFigures(**given)


def driven(cpu_s: float = 0.5, **changes: object) -> LoadResult:
    return result_of(PLAN, figures(**changes), TOOL, seen(cpu_s))


def test_failures_that_a_tool_does_not_tell_apart_are_null_and_not_0():
    errors = driven(failed=7, errors={"timeout": 3}).errors
    assert (errors["timeout"], errors["connect_refused"], errors["reset"]) == (3, None, None)
    none_failed = driven(failed=0, errors={}).errors
    assert (none_failed["reset"], none_failed["mismatch"]) == (0, None), "it verifies no length"
    assert set(driven(failed=None, errors={}).errors.root.values()) == {None}


def test_what_a_tool_does_not_measure_is_null():
    result = driven()
    assert (result.requests.due, result.requests.answered, result.requests.ok) == (2000, 2000, 2000)
    assert (result.requests.unanswered, result.requests.never_sent) == (None, None)
    assert (result.connections.opened, result.first_byte_ms, result.status) == (None, None, None)
    assert (result.generator.lateness_ms, result.generator.pauses, result.load.io) == (None, None, None)
    assert (result.latency_ms.p50, result.rate_rps.answered) == (pytest.approx(1.0, rel=1e-3), 2000.0)
    assert result.tool == TOOL
    assert [one.operation for one in result.operations] == ["GET /a"]


def test_requests_that_a_tool_did_not_send_were_due():
    requests = driven(answered=1900, ok=1900, failed=10, never_sent=90).requests
    assert (requests.due, requests.sent, requests.answered, requests.never_sent) == (2000, 1910, 1900, 90)


def test_a_window_begins_when_the_tool_says_and_not_before_its_process():
    clocks = {time.CLOCK_REALTIME: 1_000_060.0, time.CLOCK_MONOTONIC: 60.0}
    began = [window_began_s(figures(began_unix_s=at), 50.0, clocks.__getitem__) for at in (1_000_051.5, 5.0)]
    assert began == [51.5, 50.0]
    assert window_began_s(figures(), 50.0, clocks.__getitem__) == 50.0, "it does not say"


def test_what_a_process_uses_to_start_and_to_print_is_no_part_of_its_window():
    # It starts in 1 s of processor time, uses half of a CPU for 10 s, and 2 s to print.
    readings = iter([(100.0, 0.0), (101.0, 1.0), (106.0, 3.5), (111.0, 6.0), (113.0, 8.0)])
    moment, used = next(readings)
    meter = CpuMeter(moment, lambda: CpuTime(used, 0.0, 100 * used), lambda: moment)
    for moment, used in readings:  # noqa: B007 -- the meter reads them
        meter.look()
    assert meter.used(101.0, 111.0).user_s == pytest.approx(5.0)
    # Between two looks it is taken to be used evenly.
    assert meter.used(102.0, 105.0).user_s == pytest.approx(1.5)
    assert meter.used(112.0, 999.0).user_s == pytest.approx(1.0)
    assert meter.used(102.0, 105.0).voluntary_switches == pytest.approx(150)


def test_connecting_is_no_contradiction_where_a_latency_begins_with_an_open_connection():
    # Two connections, each opened for 0.5 ms before each of 2,000 requests/s, which then takes 0.5 ms.
    half_ms = times_of(numpy.full(2000, 500_000), 1e-6)
    apart = driven(latency=half_ms, connect=half_ms, connects_before=True).verdict
    assert apart.status == "valid"
    within = driven(latency=half_ms, connect=half_ms).verdict
    assert [reason.code for reason in within.reasons] == ["littles_law"]


def test_its_verdict_is_that_of_our_engine_as_far_as_its_figures_reach():
    assert driven().verdict.status == "valid"
    busy = driven(cpu_s=0.99).verdict
    assert [reason.code for reason in busy.reasons] == ["generator_saturated"]
    failing = driven(answered=1970, ok=1970, failed=30).verdict
    assert (failing.status, [reason.code for reason in failing.reasons]) == ("invalid", ["errors"])
    # Of two connections one was idle half of the time: its latencies do not make up for the throughput.
    slow = driven(answered=1500, ok=1500).verdict
    assert [reason.code for reason in slow.reasons] == ["littles_law"]


def test_a_tool_that_waits_in_a_busy_loop_is_not_saturated_by_that():
    result = result_of(PLAN, figures(), TOOL, seen(cpu_s=1.0, waits_busily=True))
    assert result.verdict.status == "valid"
    assert result.generator.cpu_user_s == 1.0
    assert result.generator.voluntary_context_switches == 12


def test_answers_of_another_length_that_a_tool_counts_make_the_result_suspect():
    verdict = driven(other_length=20).verdict
    assert (verdict.status, [reason.code for reason in verdict.reasons]) == ("suspect", ["lengths_differ"])
    assert "20 of 2,000 answers differed in length" in verdict.reasons[0].text


def test_without_statuses_failures_alone_are_wrong_answers():
    record = synthetic.point_record()
    unknown = synthetic.with_load(record, requests=driven(ok=None, failed=7).requests)
    assert wrong_answers(unknown) == 7


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    """A run whose figures of one server come from another tool."""
    record = synthetic.run_record()
    result = driven()
    keys = {
        "tool", "requests", "service_time_ms", "first_byte_ms", "transfer_ms", "connections", "bytes",
        "status", "generator", "series", "slowest", "histograms", "latency_ms",
    }  # fmt: skip
    changes = {key: getattr(result, key) for key in keys}
    records = [
        synthetic.with_load(one, **changes) if one.kind == "point" and one.server == "nginx" else one
        for one in synthetic.trial_records(record)
    ]
    return synthetic.write_run(tmp_path_factory.mktemp("driven") / "run", record, records)


@pytest.mark.parametrize("form", FORMATS)
def test_a_run_with_such_results_is_reported_in_every_form(run_folder, tmp_path, form):
    written = write_formats(run_folder, [form], None, tmp_path)
    assert written.paths
    assert all(path.stat().st_size > 0 for path in written.paths)


def test_the_page_says_of_which_arm_latencies_begin_when_a_request_was_sent(run_folder, tmp_path):
    [page] = write_formats(run_folder, ["html"], None, tmp_path).paths
    assert "of nginx from the moment it was sent" in page.read_text()


def test_the_result_for_people_says_what_the_tool_was_and_what_its_latencies_are():
    text = printed(load_summary(driven()))
    for words in ("wrk 4.1.0", "every latency counted", "from when a request was sent", "in steps of 1 µs"):
        assert words in " ".join(text.split())
