"""What the report says of the shape of curves."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.shape import shapes
from loadcurve.loads.kinds import DATABASE, WEB
from loadcurve.report import shape_words
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.report.terminal import print_shapes, summary
from loadcurve.result.folder import Run, read_run
from loadcurve.result.records import PointRecord, SearchRecord
from loadcurve.stats.capacity import Capacity, TrialCapacity, Unjudged, UnjudgedFor
from loadcurve.stats.interval import Estimate
from loadcurve.stats.leaders import Leader, Leaders
from loadcurve.stats.peak import Greatest
from loadcurve.stats.price import Offer
from loadcurve.stats.slo import parse_objective
from loadcurve.stats.usl import Misfit, NoFit, ScalabilityFit
from support import synthetic_run as synthetic
from support.machine_study import machine_run
from support.report_pages import write_report


def exactly(value: float) -> Estimate:
    return Estimate(value, value, value, 3, "t")


def test_the_conclusion_of_the_published_study_of_machines_comes_out_of_its_shape():
    [part] = shapes(machine_run(), parse_objective("p90 < 20ms"))
    cheapest, fastest = shape_words.conclusions(WEB, part)[-2:]
    assert cheapest == (
        "Up to 600 connections t2.micro (0.0116 $/h) keeps p90 < 20ms at the lowest price; above, "
        "t2.medium (0.0464 $/h) up to 1,000 connections, the highest measured load."
    )
    assert fastest == "Without regard to price, t2.large has the lowest p90 at every load."
    for shape in part.shapes:
        assert (shape.peak.load, shape.peak.place) == (100, "inside")


def test_what_is_printed_fits_into_80_columns():
    printed = io.StringIO()
    report = Report(machine_run(), analyse(machine_run(), parse_objective("p90 < 20ms")))
    print_shapes(report, Console(file=printed, width=80))
    lines = printed.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in printed.getvalue()
    assert "t2.micro" in printed.getvalue()


def test_a_peak_at_the_end_says_that_it_was_not_reached():
    words = shape_words.peak_words(WEB, "connections", Greatest(200, exactly(9_000), "last", (200,)))
    assert words.startswith("the peak was not reached: throughput is greatest at 200 connections")


def test_loads_that_cannot_be_told_apart_from_the_peak_are_named():
    words = shape_words.peak_words(
        WEB, "connections", Greatest(100, exactly(9_000), "inside", (50, 100, 200))
    )
    assert "50 and 200 connections cannot be told apart from it" in words


def test_a_single_load_that_cannot_be_told_apart_from_the_peak_is_named_in_the_singular():
    words = shape_words.peak_words(WEB, "threads", Greatest(2, exactly(150), "last", (1, 2)))
    assert words.endswith(
        "the highest usable load, with 150 ± 0 % requests/s; 1 thread cannot be told apart from it, "
        "which the interval allows for."
    )


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        (
            [TrialCapacity(1_000, "at_least", None)] * 3,
            "keeps p99 < 1s at every load that could be judged: its capacity is at least 1,000 connections.",
        ),
        (
            [TrialCapacity(1, "below", None)] * 3,
            "meets p99 < 1s at no measured load: its capacity is below 1 connection.",
        ),
        (
            [TrialCapacity(850, "exact", None), TrialCapacity(1_000, "at_least", None)],
            "keeps p99 < 1s up to a load that differs between trials: 850, at least 1,000 connections.",
        ),
        (
            [TrialCapacity(1.28, "exact", None), TrialCapacity(1, "below", None)],
            "keeps p99 < 1s up to a load that differs between trials: below 1, 1.28 connections.",
        ),
        (
            [TrialCapacity(4_757, "between", None, held_at=4_757, fails_at=11_310)],
            (
                "keeps p99 < 1s up to a load between 4,757 and 11,310 connections: the highest that held and "
                "the lowest that failed; loads in between could not be judged."
            ),
        ),
        (
            [
                TrialCapacity(4_757, "between", None, held_at=4_757, fails_at=11_310),
                TrialCapacity(9_550, "exact", None, held_at=9_500, fails_at=9_600),
            ],
            (
                "keeps p99 < 1s up to a load between 9,500 and 9,600 connections: the highest that held and "
                "the lowest that failed; loads in between could not be judged in 1 of 2 trials."
            ),
        ),
        (
            [TrialCapacity(16_000, "below", None), TrialCapacity(10_520, "below", None)],
            "meets p99 < 1s at no measured load: its capacity is below 10,520 connections.",
        ),
    ],
)
def test_a_capacity_that_the_sweep_does_not_bound_is_described_in_words(
    trials: list[TrialCapacity], words: str
):
    assert (
        shape_words.capacity_words(WEB, "connections", Capacity(tuple(trials), None, None), "p99 < 1s")
        == words
    )


def test_a_capacity_below_loads_that_could_not_be_judged_says_so_and_what_would_do():
    capacity = Capacity((TrialCapacity(64, "below", None),), None, None)
    why = "p99 requires 368 answers, and 200 came"
    too_few = UnjudgedFor((1, 8, 32), why, 3.68)
    unjudged = Unjudged((too_few,))
    assert shape_words.capacity_words(WEB, "connections", capacity, "p99 < 1s", unjudged) == (
        "meets p99 < 1s at no load that could be judged: its capacity is below 64 connections. They cannot "
        "be judged at 1, 8 and 32 connections: p99 requires 368 answers, and 200 came at 1 (a duration of "
        "3.7 s or more would do)."
    )
    taken = UnjudgedFor((48,), "the point is invalid (cpu_taken)", None)
    assert shape_words.unjudged_words("connections", Unjudged((too_few, taken))) == (
        "At 4 loads they cannot be judged: at 1, 8 and 32 connections: p99 requires 368 answers, and 200 "
        "came at 1 (a duration of 3.7 s or more would do); at 48 connections: the point is "
        "invalid (cpu_taken)."
    )
    many = UnjudgedFor(tuple(range(1, 9)), "the point is invalid (steal)", None)
    assert shape_words.unjudged_words("connections", Unjudged((many,))) == (
        "They cannot be judged at 8 loads from 1 to 8 connections: the point is invalid (steal)."
    )
    assert shape_words.enough_words(12.01) == "a duration of 13 s or more would do"


def test_a_wide_interval_of_a_capacity_is_given_by_its_ends():
    found = Capacity((TrialCapacity(8_854, "exact", None),) * 3, Estimate(8_854, 2_833, 27_252, 3, "t"), None)
    assert shape_words.capacity_figure(found) == "8,854 (2,833 to 27,252)"
    near = Capacity((TrialCapacity(100, "exact", None),) * 3, Estimate(100, 97, 104, 3, "t"), None)
    assert shape_words.capacity_figure(near) == "100 ± 4.0 %"


def test_a_rate_up_to_which_limits_hold_is_a_number_of_requests():
    found = Capacity((TrialCapacity(100, "exact", None),) * 3, Estimate(100, 97, 104, 3, "t"), None)
    words = [shape_words.capacity_words(kind, "rate", found, "p99 < 1s") for kind in (WEB, DATABASE)]
    assert words == [
        "keeps p99 < 1s up to 100 ± 4.0 % requests/s.",
        "keeps p99 < 1s up to 100 ± 4.0 % operations/s.",
    ]


def test_limits_that_fail_and_hold_again_are_reported():
    trials = (TrialCapacity(14, "exact", None, 20), TrialCapacity(14, "exact", None))
    words = shape_words.capacity_words(WEB, "connections", Capacity(trials, exactly(14), None), "p99 < 1s")
    assert "in 1 of 2 trials the limits fail and hold again higher up, from 20 connections" in words


def test_a_capacity_that_rests_on_loads_at_which_the_generator_was_late_says_so():
    late = TrialCapacity(8_200, "exact", None, held_at=8_000, fails_at=8_400, was_late=True)
    found = Capacity((late, TrialCapacity(8_200, "exact", None, held_at=8_100)), exactly(8_200), None)
    assert shape_words.capacity_words(WEB, "rate", found, "p99 < 1s") == (
        "keeps p99 < 1s up to 8,200 ± 0 % requests/s. At 8,000 per second the generator was late: that can "
        "only have added to the latencies, and the limits held in spite of it."
    )


SMALL_MISFIT = Misfit(-0.02, 10, "small")


def fit(kappa: Estimate, peak_load: Estimate | None, misfit: Misfit = SMALL_MISFIT) -> ScalabilityFit:
    return ScalabilityFit(exactly(1_000), Estimate(0.03, 0.02, 0.04, 5, "t"), kappa, peak_load, misfit)


def test_an_interval_of_serial_work_ends_at_all_of_the_work():
    wide = ScalabilityFit(
        exactly(1_000), Estimate(0.37, 0, 1.008, 5, "t"), Estimate(0, 0, 0, 5, "t"), None, SMALL_MISFIT
    )
    assert "37 % of the work is serial (0 % to 100 %)" in shape_words.scalability_words(
        wide, 256, "connections"
    )


def test_the_law_is_described_as_contention_coherency_and_what_doubling_brings():
    peak_load = Estimate(98.5, 90, 110, 5, "t")
    words = shape_words.scalability_words(
        fit(Estimate(1e-4, 9e-5, 1.1e-4, 5, "t"), peak_load), 200, "connections"
    )
    assert "3.0 % of the work is serial (2.0 % to 4.0 %)" in words
    assert "adding connections beyond N ≈ 98 (90 to 110) costs throughput" in words
    # X(2) / X(1) = 2 / 1.0302 = 1.94; X(200) / X(100) = (200 / 10.95) / (100 / 4.96) = 0.91
    assert "doubling the connections from 1 multiplies throughput by 1.94, from 100 by 0.91" in words


def test_of_a_database_the_law_is_described_in_threads():
    words = shape_words.scalability_words(
        fit(Estimate(1e-4, 9e-5, 1.1e-4, 5, "t"), Estimate(98.5, 90, 110, 5, "t")), 200, "threads"
    )
    assert "adding threads beyond N ≈ 98 (90 to 110) costs throughput" in words
    assert "doubling the threads from 1" in words


def test_a_peak_beyond_the_sweep_is_reported_as_such():
    peak_load = Estimate(985, 900, 1_100, 5, "t")
    words = shape_words.scalability_words(
        fit(Estimate(1e-6, 9e-7, 1.1e-6, 5, "t"), peak_load), 200, "connections"
    )
    assert "N ≈ 985 (900 to 1,100), which is beyond the sweep, costs throughput" in words


@pytest.mark.parametrize(
    ("rate_rps", "ranks", "alike"),
    [
        (1000.0, [("tiny", 1, 2), ("nginx", 1, 2), ("apache", 3, 3)], {"nginx": synthetic.CONNECTIONS}),
        (None, [("tiny", 1, 1), ("nginx", 2, 2), ("apache", 3, 3)], {}),
    ],
)
def test_servers_that_keep_a_rate_are_told_apart_neither_at_their_peaks_nor_along_a_sweep(
    run: Run, rate_rps: float | None, ranks: list[tuple[str, int, int]], alike: dict[str, tuple[int, ...]]
):
    """In each block tiny answers 0.1 % more than nginx and apache 2 % less: the verdicts' limit is 1 %."""
    records = [
        synthetic.with_throughput(one, factor).model_copy(update={"server": server})
        for record in run.points
        if record.server == "nginx"
        for one in [synthetic.with_load(record, load=at_rate(record, rate_rps))]
        for server, factor in (("nginx", 1.0), ("tiny", 1.001), ("apache", 0.98))
    ]
    asked = run.run.model_copy(update={"study": run.run.study | {"answer_by": "peak"}})
    [part] = shapes(replace(run, run=asked, records=records), None)
    assert part.by_peak is not None
    assert [(one.server, one.best, one.worst) for one in part.by_peak.ranks] == ranks
    assert part.leaders is not None
    assert [(one.server, one.alike) for one in part.leaders.ranges] == [("tiny", alike)]


def at_rate(record: PointRecord, rate_rps: float | None) -> object:
    """Return the load of a record as if it had asked for a rate."""
    return record.load.load.model_copy(update={"rate_rps": rate_rps})


def test_coherency_that_may_be_nothing_claims_no_peak():
    words = shape_words.scalability_words(
        fit(Estimate(1e-6, 0.0, 1e-5, 5, "t"), Estimate(985, 300, None, 5, "t")), 200, "connections"
    )
    assert "no coherency cost is visible" in words


def test_a_peak_that_no_sweep_comes_near_is_no_peak():
    far = Estimate(2.2e17, None, None, 5, "t")
    words = shape_words.scalability_words(fit(Estimate(1e-35, None, None, 5, "t"), far), 256, "connections")
    assert "no coherency cost is visible: more connections do not reduce throughput" in words


@pytest.mark.parametrize(
    ("misfit", "words"),
    [
        (SMALL_MISFIT, "The curve differs from the law by at most 2.0 % of its greatest throughput."),
        (
            Misfit(1e-5, 36, "small"),
            "The curve differs from the law by less than 0.01 % of its greatest throughput.",
        ),
        (
            Misfit(0.06, 36, "unknown"),
            (
                "The curve is 6.0 % of its greatest throughput above the law at 36 connections: "
                "a single trial does not show whether that is chance."
            ),
        ),
        (
            Misfit(-0.12, 1, "proven"),
            (
                "The curve is 12 % of its greatest throughput below the law at 1 connection: "
                "that is more than the difference between trials explains, so the figures have no intervals."
            ),
        ),
    ],
)
def test_how_far_a_curve_is_from_the_law_is_described_in_words(misfit: Misfit, words: str):
    found = fit(exactly(1e-4), exactly(98.5), misfit)
    assert shape_words.scalability_words(found, 200, "connections").endswith(f". {words}")


def test_servers_whose_fits_were_refused_for_one_reason_are_named_together(run: Run):
    [part] = shapes(run, None)
    refused = NoFit("the curve is 25 % below the law at 10")
    unfitted = [replace(one, scalability=refused) for one in part.shapes]
    assert shape_words.common_conclusions(WEB, replace(part, shapes=unfitted))[-1] == (
        "The universal scalability law does not apply to nginx, apache and tiny: "
        "the curve is 25 % below the law at 10."
    )


def test_what_is_said_of_a_server_stands_together(run: Run):
    [part] = shapes(run, parse_objective("p99 < 10s"))
    words = shape_words.of_each_server(WEB, part)["nginx"]
    assert re.fullmatch(
        r"The peak was not reached: .+\. The knee is at 10 connections: .+\. It keeps p99 < 10s .+\. "
        r"By the universal scalability law, .+\.",
        words,
    )


def test_offers_end_with_what_lies_above():
    words = shape_words.cheapest_words("rate", [Offer("a", 0.01, 5_000)], "p99 < 1s")
    assert words == (
        "Up to 5,000 per second a (0.01 $/h) keeps p99 < 1s at the lowest price, and none beyond that."
    )


def leaders_words(*ranges: Leader, measure: str = "throughput", not_compared: tuple[float, ...] = ()) -> str:
    return shape_words.leaders_words(WEB, "rate", Leaders(ranges, not_compared), measure)


def test_a_leader_with_the_best_figures_has_them_at_every_load():
    assert leaders_words(Leader("a", (10, 100))) == "a answers the most requests at every load."
    assert leaders_words(Leader("a", (10, 100)), measure="p99") == "a has the lowest p99 at every load."
    assert leaders_words(Leader("a", (10, 100)), not_compared=(50,)) == (
        "a answers the most requests at every load that could be compared."
    )


def test_a_leader_that_another_is_ahead_of_is_not_shown_to_be_beaten():
    found = Leader("a", (1, 10, 100), ahead={"b": (1, 10), "c": (100,)}, alike={"b": (1, 10), "c": (100,)})
    assert leaders_words(found, measure="p99") == (
        "a is not shown to be beaten in p99 at any load (ahead of it, by no more than chance explains: "
        "b at 1 and 10 per second, c at 100 per second)."
    )


def test_servers_that_are_not_told_apart_from_the_leader_are_named_with_their_loads():
    found = Leader("a", (1, 10, 100), alike={"b": (1, 10, 100), "c": (10,)})
    assert leaders_words(found) == (
        "a answers the most requests at every load "
        "(not told apart from it: b throughout, c at 10 per second)."
    )


def test_leaders_are_listed_range_by_range():
    found = (Leader("a", (10, 100), alike={"b": (10, 100)}), Leader("c", (500, 1_000)))
    assert leaders_words(*found, measure="p99", not_compared=(200,)) == (
        "up to 100 per second a has the lowest p99 (not told apart from it: b throughout); "
        "then up to 1,000 per second c has the lowest p99; nothing is compared at 200 per second."
    )


def test_the_page_has_the_tables_and_the_sentences(tmp_path: Path):
    run = machine_run()
    folder = synthetic.write_run(tmp_path, run.run, run.records)
    page = write_report(folder, parse_objective("p90 < 20ms")).read_text(encoding="utf-8")
    for shown in ("Peak, knee and capacity", "million requests/$", "at the lowest price", "The knee is at"):
        assert shown in page
    assert "at the lowest price" not in write_report(folder).read_text(encoding="utf-8")


def test_the_summary_of_a_search_ranks_nothing(tmp_path: Path):
    search = SearchRecord(key="connections", low=1, high=200, slo="p50 < 1s")
    record = synthetic.run_record().model_copy(update={"points": [], "search": search})
    run = read_run(synthetic.write_run(tmp_path, record, synthetic.trial_records(record)))
    printed = io.StringIO()
    out = Console(file=printed, width=80)
    out.print(summary(Report(run, analyse(run))))
    print_shapes(Report(run, analyse(run)), out)
    assert "rank" not in printed.getvalue()
    assert "nginx keeps p50 < 1s at every load that could be judged" in " ".join(printed.getvalue().split())


def test_curves_without_a_usable_point_have_no_table_and_are_fitted_to_nothing(tmp_path: Path):
    record = synthetic.run_record()
    points = [one for one in synthetic.trial_records(record) if isinstance(one, PointRecord)]
    broken = [synthetic.spoiled(one) for one in points]
    run = read_run(synthetic.write_run(tmp_path, record, broken))
    printed = io.StringIO()
    print_shapes(Report(run, analyse(run)), Console(file=printed, width=80))
    assert not printed.getvalue()
    assert not everything(Report(run, analyse(run)))["shapes"]
