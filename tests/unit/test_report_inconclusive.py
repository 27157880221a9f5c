"""A run that can compare nothing says so in place of its tables: what disturbed it and what would help."""

import dataclasses
import io
import math
import re
from collections.abc import Sequence

import pytest
from rich.console import Console
from scipy import stats

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.disturbance import Disturbance, disturbance_of
from loadcurve.report.answer import answer
from loadcurve.report.inconclusive import inconclusive_words, visible_words
from loadcurve.report.ranking import ranking_content
from loadcurve.report.section import Report
from loadcurve.report.terminal import print_results
from loadcurve.result.folder import Run
from loadcurve.result.measures import MEASURES
from loadcurve.result.records import PointRecord
from support import synthetic_run as synthetic
from support.large_run import large_run

THROUGHPUT = MEASURES["throughput"]
QUIET = Disturbance(0.01, 0.02, 0.0, 0.0, None, 0, 4)


def measured(logs: Sequence[Sequence[float]]) -> Run:
    """A run of one point, at which all measures of a server (row) spread over its trials as given."""
    run = large_run(servers=len(logs), points=1, trials=len(logs[0]))

    def spread(record: PointRecord) -> PointRecord:
        factor = math.exp(logs[int(record.server.removeprefix("server-")) - 1][record.block])
        load = record.load
        times = dict.fromkeys(("mean", "p50", "p90", "p99", "max"), factor)
        changed = synthetic.with_load(
            record,
            rate_rps=load.rate_rps.model_copy(update={"answered": 1000 / factor}),
            latency_ms=load.latency_ms.model_copy(update=times),
        )
        used = record.probe.server
        assert used is not None
        used = used.model_copy(update={"cpu_per_request_us": 20 * factor})
        return changed.model_copy(update={"probe": record.probe.model_copy(update={"server": used})})

    return synthetic.with_records(run, [spread(one) for one in run.points])


def analysed(logs: Sequence[Sequence[float]], disturbance: Disturbance = QUIET) -> Analysis:
    return dataclasses.replace(analyse(measured(logs)), disturbance=disturbance)


WILD = ([2.0, -2.0, 1.0], [-2.0, 1.0, 1.5])
"""The ratios' logarithms are 4, -3 and -0.5, of which the standard deviation is 3.547."""


def test_a_machine_that_was_disturbed_says_by_what_and_what_would_help():
    found = Disturbance(0.62, 0.4, 0.0, 0.01, 0.3, 2, 6)
    words = " ".join(inconclusive_words(analysed(WILD, found), THROUGHPUT))
    assert words == (
        "This machine was too disturbed to compare anything in this run: 3 trials would show no "
        "difference, however large, in throughput. The records show: the host withheld up to 62 % of a CPU "
        "(steal), the CPU limit throttled the server in up to 30 % of its periods, the process that sends "
        "the load was paused at 2 of 6 points and processes waited for a CPU during up to 40 % of a load, "
        "which other work or the servers themselves can cause. What helps: measure again when `loadcurve "
        "doctor` finds the machine quiet, or on another one, with longer loads; not even 100 trials would "
        "show 25 % at this spread."
    )


def test_a_machine_is_not_blamed_for_waits_that_the_servers_themselves_can_cause():
    first, *said = inconclusive_words(
        analysed(WILD, dataclasses.replace(QUIET, cpu_pressure_share=0.62)), THROUGHPUT
    )
    assert first.startswith("The trials differ too much to compare anything in this run: 3 trials would show")
    assert said == [
        (
            "The records show: processes waited for a CPU during up to 62 % of a load, which other work or "
            "the servers themselves can cause."
        ),
        (
            "What helps: longer loads, and a warm-up in which the servers reach their final state; not "
            "even 100 trials would show 25 % at this spread."
        ),
    ]


def test_a_machine_whose_records_show_nothing_says_so():
    words = inconclusive_words(analysed(WILD), THROUGHPUT)
    assert "The records show no steal, pressure, throttling or pause that explains it." in words


def test_too_few_trials_of_a_fit_machine_say_how_many_would_do():
    words = " ".join(inconclusive_words(analysed([[0.1, -0.1], [-0.1, 0.1]]), THROUGHPUT))
    # The log ratios are 0.2 and -0.2; the moderated variance is theirs, for the sums do not vary at all.
    deviation = 0.4 / math.sqrt(2)

    def power(trials: int) -> float:
        shift = math.log(1.25) / deviation * math.sqrt(trials)
        return float(stats.nct.sf(stats.t.isf(0.025, trials - 1), trials - 1, shift))

    enough = next(trials for trials in range(5, 100) if power(trials) >= 0.8)
    assert words.startswith("The trials are too few to compare anything: 2 trials would show no difference")
    assert words.endswith(f"What helps: {enough} trials would show 25 % at this spread, or longer loads.")


@pytest.mark.parametrize(
    "logs",
    [
        # Far apart, so the spread does not matter; close together; a single trial.
        [[0.3, -0.3, 0.0], [9.0, 9.3, 8.8]],
        [[0.01, -0.01, 0.0], [0.02, 0.0, 0.01]],
        [[3.0], [-3.0]],
    ],
)
def test_a_run_that_compares_anything_or_has_one_trial_is_reported_as_always(logs):
    analysis = analysed(logs)
    assert inconclusive_words(analysis, THROUGHPUT) == []
    assert ranking_content(analysis).ranks


def test_the_sentence_stands_in_place_of_the_tables():
    analysis = analysed(WILD)
    report = Report(measured(WILD), analysis)
    words = inconclusive_words(analysis, THROUGHPUT)
    content = ranking_content(analysis)
    assert answer(analysis).sentences == words
    assert content.sentences == [" ".join(words)]
    assert [content.ranks, content.over_curve, content.at_points, content.visible] == [{}, {}, [], []]
    assert answer(analysis).groups == []
    print_results(report, Console(file=(out := io.StringIO()), width=2000))
    said = " ".join(out.getvalue().split())
    # The answer says it, and the ranking leads there.
    assert said.count(" ".join(words)) == 1
    assert said.index(" ".join(words)) < said.index("none, as the answer above says")


def test_the_disturbance_is_the_worst_of_the_records():
    run = measured(WILD)
    record = run.points[0]
    cpu = record.probe.cpus[0]
    stolen = [cpu.model_copy(update={"steal_share": share}) for share in (0.1, 0.7)]
    worse = record.model_copy(update={"probe": record.probe.model_copy(update={"cpus": stolen})})
    found = disturbance_of(synthetic.with_records(run, [worse, *run.points[1:]]))
    # One of 20 periods of each record is throttled, see the synthetic run; nothing is known of pressure.
    assert found == Disturbance(0.7, None, None, None, 0.05, 0, 6)


def test_what_a_run_cannot_see_is_one_sentence_and_none_where_nothing_is_compared():
    assert visible_words(analysed([[3.0], [-3.0]])) is None
    assert visible_words(analysed(WILD)) == (
        "No difference in throughput, however large, can be detected in this run."
    )
    words = visible_words(analysed([[0.01, -0.01, 0.0], [0.02, 0.0, 0.01]]))
    assert words.startswith("Differences below ")
    assert words.endswith(" % in throughput may not be detected in this run.")
    # The log ratios are 0.3, -0.3 and 0: of three trials, too far apart to show half as much again.
    words = visible_words(analysed([[0.15, -0.15, 0.0], [-0.15, 0.15, 0.0]]))
    factor = re.fullmatch(
        r"Servers that differ by less than a factor of ([0-9.]+) in throughput may not be told apart .*",
        words,
    )
    assert 1.5 < float(factor[1]) < 25
