"""The ranking in words."""

import math
from pathlib import Path

import numpy as np

from loadcurve.analysis.analysis import analyse
from loadcurve.report.leader import leader_words
from loadcurve.report.ranking import ranking_content
from loadcurve.report.ranking_words import in_words
from loadcurve.result.folder import read_run
from loadcurve.result.measures import MEASURES
from loadcurve.result.records import PointRecord
from loadcurve.result.rig import NoiseSpread
from loadcurve.stats.ranking import Ranking, rank
from support import synthetic_run as synthetic
from support.measured_noise import MEASURED
from support.report_pages import render_report

THROUGHPUT = MEASURES["throughput"]
SPREAD = [0.99, 1.0, 1.01, 0.995, 1.005]


def ranked(servers: dict[str, list[float]]) -> Ranking:
    return rank({name: np.log(np.array([trials])).T for name, trials in servers.items()}, "higher")


def words(**servers: list[float]) -> str:
    return in_words(ranked(servers), THROUGHPUT)


def lead(**servers: list[float]) -> str:
    return leader_words(ranked(servers), THROUGHPUT)


def test_servers_that_cannot_be_told_apart_are_ahead_together():
    said = words(nginx=[131 * x for x in SPREAD], h2o=[131 * x for x in reversed(SPREAD)], apache=[100.0] * 5)
    assert said.startswith("nginx and h2o cannot be told apart; their geometric mean is 1.31 (1.3")
    assert said.endswith(") times the throughput of apache")


def test_three_that_cannot_be_told_apart_are_a_list():
    said = words(
        a=SPREAD, b=[1.001 * x for x in SPREAD[::-1]], c=[1.002 * SPREAD[i] for i in (2, 0, 4, 1, 3)]
    )
    assert said == "c, b and a cannot be told apart"


def test_groups_that_overlap_in_a_long_chain_are_said_by_the_places_of_their_servers():
    """Each is told apart from those two steps away, and not from the next."""
    noise = np.random.default_rng(1).normal(0, 0.01, size=(6, 20))
    # Two steps of 0.65 % are four standard errors of the means of 20 trials, and one step is two.
    logs = 0.0065 * np.arange(6)[:, np.newaxis] + noise - noise.mean(axis=1, keepdims=True)
    chain = dict(zip("fedcba", np.exp(logs).tolist(), strict=True))
    assert words(**chain) == (
        "places that cannot be ruled out, in 6: a 1 to 2, b 1 to 3, c 2 to 4, d 3 to 5, e 4 to 6, f 5 to 6"
    )


def test_each_place_that_is_clear_is_reported_with_its_ratio():
    said = words(a=[4 * x for x in SPREAD], b=[2 * x for x in SPREAD[::-1]], c=[1.0] * 5)
    first, second = said.split("; ")
    assert first.startswith("a has 2.00 (")
    assert first.endswith(") times the throughput of b")
    assert second.startswith("b has 2.00 (")


def test_one_behind_a_server_that_is_told_apart_from_the_leader_is_not_ahead_with_it():
    # c spreads so widely that nothing tells it apart, though it is behind b on average.
    said = lead(a=[100 * x for x in SPREAD], b=[90 * x for x in SPREAD[::-1]], c=[120, 40, 130, 35, 60])
    assert said.startswith("a has the highest throughput, but cannot be told apart from c; it has 1.11 (")
    assert said.endswith(") times that of b")


def test_of_two_servers_the_better_one_has_the_higher_figure():
    said = lead(a=[2 * x for x in SPREAD], b=[1.0] * 5)
    assert said.startswith("a has the higher throughput, 2.00 (1.98 to 2.02) times that of b")


def test_leaders_that_cannot_be_told_apart_are_named_before_the_lead_over_the_next_and_the_last():
    said = lead(
        nginx=[131.1 * x for x in SPREAD],
        h2o=[131 * x for x in reversed(SPREAD)],
        apache=[100.0] * 5,
        node=[90.0] * 5,
        php=[20.0] * 5,
    )
    leaders, ratios = said.split("; ")
    assert leaders == "nginx and h2o have the highest throughput and cannot be told apart"
    next_one, last = ratios.split(" and ")
    assert next_one.startswith("nginx has 1.31 (")
    assert next_one.endswith(") times that of apache")
    # 131 / 20 is 6.55.
    assert last.startswith("6.55 (")
    assert last.endswith(") times that of php, the last of 5")


def test_a_leader_is_alike_to_servers_that_are_not_alike_to_one_another():
    # The trials of a vary by 10 %, those of b and c by nothing, so these two differ and a from neither.
    varied = [1.9, 2.1, 2.3, 1.9, 2.1]
    said = lead(a=varied, b=[2.05] * 5, c=[2.0 + x / 1e6 for x in range(5)])
    assert said.startswith("a has the highest throughput, but cannot be told apart from b and c; b has 1.02")
    assert said.endswith(") times the throughput of c")


def test_where_nothing_differs_nobody_is_ahead():
    assert lead(a=SPREAD, b=SPREAD[::-1]).endswith("cannot be told apart in throughput")


def test_servers_without_common_blocks_are_not_ranked():
    said = words(a=[1.0, 1.0, math.nan, math.nan], b=[math.nan, math.nan, 2.0, 2.0])
    assert said == "no two servers have two usable blocks in common, so they cannot be ranked"


def test_the_page_ranks_over_the_curve_and_at_each_point_and_says_what_it_leaves_out(tmp_path: Path):
    page = render_report(synthetic.write_run(tmp_path))
    assert "apache has 1.36 (1.36 to 1.36) times the throughput of tiny." in page
    assert "The ranking at each point" in page
    assert "<li>tiny at connections = 100: block 2 invalid</li>" in page


def test_a_run_of_one_server_has_no_ranking(tmp_path: Path):
    record = synthetic.run_record()
    records = [one for one in synthetic.trial_records(record) if one.server == "nginx"]
    assert ranking_content(analyse(read_run(synthetic.write_run(tmp_path, record, records)))) is None


def test_the_rigs_own_noise_stands_beside_that_of_the_run(tmp_path: Path):
    spreads = {"p99": NoiseSpread(log_ratio_sd=0.05, degrees_of_freedom=9)}
    record = synthetic.run_record()
    record = record.model_copy(update={"noise": MEASURED.model_copy(update={"spreads": spreads})})
    content = ranking_content(analyse(read_run(synthetic.write_run(tmp_path, record))))
    # Three pairs find 3.264 standard deviations with 80 %: exp(3.264 * 0.05) - 1 = 17.7 %.
    assert content.visible[-1].startswith(
        "This rig's noise, limit against itself at one point, loads of 1.0 s: with 3 trials 18 % in p99"
    )


def test_noise_of_a_rig_by_measures_that_are_not_known_is_left_out(tmp_path: Path):
    spreads = {"another": NoiseSpread(log_ratio_sd=0.05, degrees_of_freedom=9)}
    record = synthetic.run_record()
    record = record.model_copy(update={"noise": MEASURED.model_copy(update={"spreads": spreads})})
    content = ranking_content(analyse(read_run(synthetic.write_run(tmp_path, record))))
    assert not any("rig" in sentence for sentence in content.visible)


def test_a_percentile_that_is_left_out_of_a_measured_point_is_of_too_few_answers(tmp_path: Path):
    run = read_run(synthetic.write_run(tmp_path))

    def without_p99(one: PointRecord) -> PointRecord:
        if (one.server, one.block, one.point["connections"]) != ("nginx", 0, 50):
            return one
        return synthetic.with_load(one, latency_ms=one.load.latency_ms.model_copy(update={"p99": None}))

    content = ranking_content(analyse(synthetic.with_records(run, [*map(without_p99, run.points)])))
    assert "nginx at connections = 50, p99: block 0 with too few answers for a figure" in content.left_out
    assert "apache at connections = 50, 100 and 200: block 2 not measured" in content.left_out


def test_pairs_that_are_not_told_apart_say_how_many_trials_would_tell(tmp_path: Path):
    run = read_run(synthetic.write_run(tmp_path))
    nginx, tiny = (synthetic.SERVERS[name] for name in ("nginx", "tiny"))

    def as_fast(record: PointRecord) -> PointRecord:
        connections = record.point["connections"]
        ratio = nginx.throughput_rps(connections) / tiny.throughput_rps(connections)
        return synthetic.with_throughput(record, ratio * (1.05, 0.97, 1.0)[record.block])

    records = [as_fast(one) if one.server == "tiny" else one for one in run.points]
    content = ranking_content(analyse(synthetic.with_records(run, records)))
    # The mean of the ratios' logarithms is 0.15 of their standard deviation, which takes 350 trials.
    [said] = [one for one in content.visible if one.startswith("Trials required")]
    assert "tiny and nginx more than 100 in throughput" in said


def test_a_server_that_can_be_compared_to_no_other_is_not_named_ahead():
    # Of a there is one block; (99 * 100 * 101) / (50.5 * 50 * 49.5) is 8.00, of which the cube root is 2.
    said = lead(a=[200, math.nan, math.nan], b=[99, 100, 101], c=[50.5, 50, 49.5])
    assert said.startswith("b has the highest throughput of those that can be compared, 2.00 (")
    assert said.endswith(") times that of c; without two usable blocks in common: a and b, a and c")
