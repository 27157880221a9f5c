"""When a run has enough trials, determined from its records alone."""

import dataclasses

import pytest

from loadcurve.analysis.ending import ending, figures, until_narrow
from loadcurve.result.folder import Run
from loadcurve.result.records import FailureRecord, PointRecord
from loadcurve.stats.stopping import Figure, may_end, wide_points
from support import synthetic_run as synthetic

# Three trials at 1 / 1.02, 1 and 1.02 of the truth: the interval ends at 5.04 % above it.
NARROW, WIDE = 0.051, 0.05


def adaptive(run: Run, share: float, *, least: int = 2, most: int = 3, blocks: int = 3, **trials) -> Run:
    """The run as that of a study that ends when its intervals are within ``share``, cut after some blocks."""
    table = {"count": least, "restart": "sweep", "until_share": share, "at_most": most}
    table |= {"measure": "throughput", **trials}
    record = run.run.model_copy(update={"study": run.run.study | {"trials": table}})
    return dataclasses.replace(run, run=record, records=[one for one in run.records if one.block < blocks])


@pytest.fixture(scope="module")
def whole(run: Run) -> Run:
    """A run of three blocks without failures and invalid points."""
    return synthetic.with_records(
        run,
        [
            synthetic.point_record(
                connections=connections, **planned.model_dump(), factor=synthetic.TRIAL_FACTORS[planned.block]
            )
            for planned in run.run.order
            for connections in synthetic.CONNECTIONS
        ],
    )


def test_a_run_of_a_fixed_number_of_trials_ends_with_them(whole: Run):
    ended = ending(whole)
    assert (ended.reason, ended.blocks, ended.points_expected, ended.wide) == ("count", 3, 72, ())


def test_a_run_with_narrow_intervals_ends_before_the_most_trials(whole: Run):
    longer = adaptive(whole, NARROW, least=3, most=4)
    order = [
        *whole.run.order,
        *[one.model_copy(update={"block": 3, "trial": 9 + i}) for i, one in enumerate(whole.run.order[:3])],
    ]
    longer = dataclasses.replace(longer, run=longer.run.model_copy(update={"order": order}))
    ended = ending(longer)
    assert (ended.reason, ended.blocks, ended.points_expected, ended.wide) == ("narrow", 3, 72, ())
    assert not longer.complete


def test_a_run_that_stays_wide_ends_with_the_most_trials_and_says_what_was_wide(whole: Run):
    ended = ending(adaptive(whole, WIDE))
    assert (ended.reason, ended.blocks) == ("at_most", 3)
    assert len(ended.wide) == 3 * len(synthetic.CONNECTIONS)
    assert ended.wide[0].half_width == pytest.approx(0.0504, abs=1e-4)


def test_an_odd_trial_is_answered_by_more_trials_until_it_hardly_matters():
    table = {"count": 8, "until_share": 0.03, "at_most": 20, "measure": "throughput"}
    rule = until_narrow(table)
    assert rule is not None
    usual = [1000 * factor for factor in (0.99, 1.0, 1.01)] * 7

    def wide_after(rates: list[float]) -> bool:
        found = [Figure("nginx", {"connections": 50}, rate) for rate in rates]
        return not may_end(len(rates), wide_points(found, rule), rule)

    assert not wide_after(usual[:8])
    # With the odd one the logarithms have s = 0.0788 and 2.365 s / √8 is 6.6 %; of 20 trials 2.4 % are left.
    assert wide_after([800, *usual[:7]])
    assert not wide_after([800, *usual[:19]])


def test_a_run_that_was_stopped_while_intervals_were_wide_is_unfinished(whole: Run):
    # With two trials t is 12.7, so nothing is narrow.
    ended = ending(adaptive(whole, NARROW, blocks=2))
    assert (ended.reason, ended.blocks, ended.points_expected) == ("unfinished", 2, 72)


def test_fewer_than_the_least_number_of_trials_are_not_enough(whole: Run):
    assert ending(adaptive(whole, 0.9, least=3, blocks=2)).reason == "unfinished"
    assert ending(adaptive(whole, 0.9, least=2, blocks=2)).reason == "narrow"


def test_a_block_under_way_decides_nothing(whole: Run):
    cut = adaptive(whole, 0.9, least=2, blocks=3)
    cut = synthetic.with_records(cut, cut.records[: 2 * 24 + 5])
    assert (ending(cut).reason, ending(cut).blocks) == ("unfinished", 2)


def test_a_failed_trial_is_over_and_its_points_are_not_waited_for(run: Run):
    ended = ending(adaptive(run, 0.9, most=3))
    assert (ended.reason, ended.blocks) == ("narrow", 3)


def test_with_a_start_for_each_point_a_failure_ends_no_block(whole: Run):
    def failed(record: PointRecord) -> FailureRecord:
        reason = {"code": "died", "text": "the server ended during the load"}
        identity = record.model_dump(include={"trial", "block", "server", "point", "started_at"})
        return FailureRecord.model_validate({"kind": "failure", **identity, "reason": reason, "log_tail": ""})

    each = adaptive(whole, 0.9, restart="point")
    records = [failed(one) if i in {0, 1, 30} else one for i, one in enumerate(each.records)]
    assert ending(synthetic.with_records(each, records)).blocks == 3
    # The trial whose first two points failed has one more to come.
    assert ending(synthetic.with_records(each, [*records[:7], *records[8:]])).blocks == 0


def test_invalid_points_do_not_make_an_interval_narrow_and_points_never_measured_do_not_keep_it_wide(
    whole: Run,
):
    rule = until_narrow(adaptive(whole, NARROW).run.study["trials"])
    assert rule is not None

    at_10 = [one for one in whole.points if one.point["connections"] == 10]
    all_but_one = [synthetic.spoiled(one) if one.server == "tiny" and one.block else one for one in at_10]
    [wide] = wide_points(figures(all_but_one, rule), rule)
    assert (wide.server, wide.half_width) == ("tiny", None)
    none_at_all = [synthetic.spoiled(one) if one.server == "tiny" else one for one in at_10]
    assert wide_points(figures(none_at_all, rule), rule) == []


def test_the_named_measure_decides(whole: Run):
    # CPU per request and its interval go with the same factors; the CPUs in use with their squares.
    assert ending(adaptive(whole, NARROW, measure="cpu_per_request_us")).reason == "narrow"
    assert ending(adaptive(whole, NARROW, measure="cpu_share")).reason == "at_most"
