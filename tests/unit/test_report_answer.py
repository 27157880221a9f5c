"""The answer at the top of the report."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.explain.all import FINDINGS
from loadcurve.report import text
from loadcurve.report.answer import MOST_CAUSES, Answer, Group, alike_words, answer, causes, caution
from loadcurve.report.appearance import appearances
from loadcurve.report.figures import parts
from loadcurve.report.leader import leader_words
from loadcurve.report.ranking import ranking_content
from loadcurve.report.shape_words import never_words
from loadcurve.result.folder import Run, read_run
from loadcurve.result.measures import MEASURES
from loadcurve.result.outcomes import Verdict, VerdictReason
from loadcurve.stats.capacity import Capacity, TrialCapacity
from loadcurve.stats.interval import Estimate
from loadcurve.stats.ranking import rank
from loadcurve.stats.slo import parse_objective
from support import synthetic_run as synthetic
from support.explained_run import planted_run, retried_connects
from support.findings import finding
from support.machine_study import machine_run
from support.report_pages import render_report


def answer_of(run: Run, slo: str | None = None) -> Answer:
    return answer(analyse(run, parse_objective(slo) if slo else None))


def test_it_says_by_how_much_the_best_server_leads(run: Run):
    # All trials of a block have one factor, so that a block's ratios are those of the truth.
    found = answer_of(run)
    apache, tiny = (times(server, synthetic.CONNECTIONS) for server in ("apache", "tiny"))
    assert found.sentences == [f"Over the curve, nginx has the highest throughput, {apache} and {tiny}."]
    assert found.groups == [Group("1", ("nginx",)), Group("2", ("apache",)), Group("3", ("tiny",))]


def times(server: str, connections: Iterable[int]) -> str:
    """By how much nginx leads over another server, by the truth of the synthetic run."""
    first, second = synthetic.SERVERS["nginx"], synthetic.SERVERS[server]
    # An invalid point of tiny is in no pair, and the others of its trial have the same factor.
    ratio = geometric_mean(first.throughput_rps(c) / second.throughput_rps(c) for c in connections)
    return f"{ratio:.2f} ({ratio:.2f} to {ratio:.2f}) times that of {server}"


def test_a_ranking_at_one_point_names_the_point_and_no_curve(tmp_path: Path):
    found = answer_of(read_run(synthetic.write_points(tmp_path, 10)))
    apache, tiny = (times(server, [10]) for server in ("apache", "tiny"))
    assert found.sentences == [f"At connections = 10, nginx has the highest throughput, {apache} and {tiny}."]


@pytest.mark.parametrize(
    ("kept", "where", "extent"),
    [
        (
            [10],
            "At connections = 10, the only load at which servers can be compared, ",
            "3 blocks, 1 of 8 points",
        ),
        (
            [1, 10],
            "At connections = 1 and 10, the loads at which servers can be compared, ",
            "3 blocks, 2 of 8 points",
        ),
    ],
)
def test_where_the_others_have_few_usable_points_the_ranking_names_those(run: Run, kept, where, extent):
    records = [
        synthetic.spoiled(one)
        if one.kind == "point" and one.server != "nginx" and one.point["connections"] not in kept
        else one
        for one in run.records
    ]
    found = analyse(synthetic.with_records(run, records), None)
    apache, tiny = (times(server, kept) for server in ("apache", "tiny"))
    assert answer(found).sentences == [f"{where}nginx has the highest throughput, {apache} and {tiny}."]
    assert ranking_content(found).extent == extent


def test_limits_that_were_asked_for_come_before_the_ranking():
    # The p90 crosses 20 ms at 600 connections by construction; the larger machines stay below it.
    limited, ahead = answer_of(machine_run(), "p90 < 20ms").sentences
    assert limited.startswith("t2.medium keeps p90 < 20ms at every load that could be judged")
    assert "t2.micro keeps them up to 600" in limited
    assert ahead.startswith("Over the curve, t2.large has the highest throughput, ")


def test_which_server_is_ahead_is_answered_where_no_server_keeps_the_limits():
    # By construction the p90 of every machine is 1 ms or more.
    limited, ahead = answer_of(machine_run(), "p90 < 0.1ms").sentences
    assert limited == "No server meets p90 < 0.1ms at any measured load."
    assert ahead.startswith("Over the curve, t2.large has the highest throughput, ")


def test_servers_that_keep_no_limit_are_named_together_behind_those_that_do():
    # At one connection the p90 is 0.95, 0.97 and 1 times 20 / 600 ** 0.5 = 0.816 ms, give or take 0.01 %.
    [limited, _] = answer_of(machine_run(), "p90 < 0.78ms").sentences
    assert limited.startswith("t2.large keeps p90 < 0.78ms up to ")
    assert limited.endswith(" Of the others, t2.micro and t2.medium meet them at no measured load.")


@pytest.mark.parametrize(
    ("low", "high", "is_alike"), [(0.07, 1090.0, True), (5.0, 16.0, False), (None, None, True)]
)
def test_capacities_within_the_interval_of_the_best_are_not_told_apart_from_it(low, high, is_alike):
    trials = (TrialCapacity(9, "exact", None),)
    best = Capacity(trials, Estimate(24.5, 5.7 if low != 5.0 else 20.0, 104.0, 3, "t"), None)
    other = Capacity(trials, Estimate(9.0, low, high, 3, "t"), None)
    said = alike_words(("caddy", best), [("nginx", other), ("never", Capacity(trials, None, None))])
    assert said == (" By their intervals caddy and nginx cannot be told apart." if is_alike else "")


def test_limits_that_hold_again_at_a_higher_load_are_not_said_to_be_met_nowhere():
    again = Capacity((TrialCapacity(1, "below", None, 20),), None, None)
    assert never_words(again, "p99 < 1s") == "does not keep p99 < 1s from the lowest load on"
    never = Capacity((TrialCapacity(1, "below", None),), None, None)
    assert never_words(never, "p99 < 1s") == "meets p99 < 1s at no measured load"


def asking(run: Run, **keys: str) -> Run:
    """A run whose study says what answers its question."""
    return replace(run, run=run.run.model_copy(update={"study": run.run.study | keys}))


def test_the_limits_of_a_study_answer_its_question_as_those_of_a_reader_do():
    limits = "p90 < 20ms"
    answered = answer_of(asking(machine_run(), limits=limits)).sentences
    assert answered == answer_of(machine_run(), limits).sentences
    # By construction the p90 of every machine is 1 ms or more.
    stricter, _ = answer_of(asking(machine_run(), limits=limits), "p90 < 0.1ms").sentences
    assert "p90 < 0.1ms at any measured load" in stricter


@pytest.mark.parametrize("limits", ["rate >= 99 %", "no limits", 7])
def test_limits_that_do_not_apply_to_what_was_measured_leave_the_ranking_to_answer(run: Run, limits: str):
    assert answer_of(asking(run, limits=limits)).sentences == answer_of(run).sentences


def test_the_measure_of_a_study_answers_its_question(run: Run):
    found = answer_of(asking(run, answer_by="p99"))
    assert found.ranked_by == "p99"
    assert "the lowest p99" in found.sentences[0]
    # A study of another release, or one that was changed by hand, may name what is no measure.
    assert answer_of(asking(run, answer_by="p98")) == answer_of(run)


def test_the_peaks_of_the_servers_answer_where_the_study_asks_for_them(run: Run):
    found = answer_of(asking(run, answer_by="peak"))
    peaks = {
        name: max(map(truth.throughput_rps, synthetic.CONNECTIONS))
        for name, truth in synthetic.SERVERS.items()
    }
    # All trials of a block have one factor, so that a block's ratios are those of the truth.
    first, last = (peaks["nginx"] / peaks[name] for name in ("tiny", "apache"))
    assert peaks["tiny"] > peaks["apache"]
    assert found.ranked_by == "peak throughput"
    assert found.sentences[0] == (
        f"nginx has the highest peak throughput, {first:.2f} ({first:.2f} to {first:.2f}) times that of tiny "
        f"and {last:.2f} ({last:.2f} to {last:.2f}) times that of apache."
    )
    assert found.sentences[1].startswith("The peaks, in requests/s: nginx 40,191 (")
    assert [words.split()[0] for words in found.sentences[1].partition(": ")[2].split("; ")] == [
        "nginx", "tiny", "apache",
    ]  # fmt: skip
    assert " at 200 connections, its last load; tiny" in found.sentences[1]


def with_one_depth(run: Run) -> Run:
    """Return the run as if its sweep had a second key, with a single value."""
    depth = {"pipeline": 4}
    records = [
        record if record.point is None else record.model_copy(update={"point": {**record.point, **depth}})
        for record in run.records
    ]
    points = [{**point, **depth} for point in run.run.points]
    return replace(run, run=run.run.model_copy(update={"points": points}), records=records)


def test_a_key_of_the_sweep_with_one_value_changes_nothing_of_the_peaks(run: Run):
    asked = asking(run, answer_by="peak")
    found = answer_of(with_one_depth(asked))
    assert found.sentences == answer_of(asked).sentences
    assert found.groups == answer_of(asked).groups


@pytest.mark.parametrize(
    ("keys", "beside"),
    [
        ({}, "99th percentile"),
        ({"answer_by": "p95"}, "95th percentile"),
        ({"limits": "errors < 1 %, mean < 1s"}, "Mean"),
        ({"answer_by": "memory_peak_mib"}, "99th percentile"),
    ],
)
def test_the_latency_that_answers_is_drawn_beside_throughput(run: Run, keys: dict[str, str], beside: str):
    asked = asking(run, **keys)
    [part] = parts(asked, analyse(asked), appearances(asked.run.servers))
    assert part.main_latency == beside


def test_a_small_ratio_is_written_as_a_fraction():
    logs = {
        "quick": np.log([[2.0], [2.0], [2.0], [2.1]]),
        "slow": np.log([[4000.0], [4000.0], [4000.0], [4100.0]]),
    }
    said = leader_words(rank(logs, "lower"), MEASURES["p99"])
    found = re.fullmatch(r"quick has the lower .*, 1/1,9\d\d \(1/(\S+) to 1/(\S+)\) of that of slow", said)
    assert found is not None, said
    assert float(found[1].replace(",", "")) > 1980 > float(found[2].replace(",", ""))


def test_servers_that_cannot_be_told_apart_are_one_group(run: Run):
    same = {"nginx": 1, "tiny": 1}
    twins = [
        record.model_copy(update={"measurements": nginx.measurements, "probe": nginx.probe})
        for record in run.points
        if record.server in same
        for nginx in run.points
        if nginx.server == "nginx"
        # Another block's trial, so that the two differ by the trials' own spread and by nothing else.
        and nginx.block == (record.block + (record.server == "tiny")) % 3
        and nginx.point == record.point
    ]
    found = answer_of(synthetic.with_records(run, twins))
    assert [set(group.servers) for group in found.groups] == [{"nginx", "tiny"}]
    assert found.groups[0].places == "1 to 2"
    assert "cannot be told apart" in found.sentences[0]
    asked = answer_of(asking(synthetic.with_records(run, twins), question="What of its latency?"))
    assert asked.sentences == found.sentences


def test_of_latencies_that_nothing_ranks_the_lowest_is_named_first(run: Run):
    first = [record for record in run.records if record.block == 0]
    found = answer_of(asking(synthetic.with_records(run, first), answer_by="p99"))
    said = found.sentences[0]
    assert said.startswith("The p99 of each server at its highest load, in ms: ")
    # By Little's law the one that answers most at 200 connections has the lowest latency there.
    assert said.index("nginx") < said.index("tiny") < said.index("apache")


def test_one_trial_answers_without_an_interval_and_says_so(run: Run):
    first = [record for record in run.records if record.block == 0]
    found = answer_of(synthetic.with_records(run, first))
    assert found.groups == []
    # 42000 * 200 / 209 / 1.02 at the highest point, 21000 * 200 / 206 / 1.02 and 30000 * 200 / 225 / 1.02.
    assert found.sentences[0] == (
        "The highest throughput of each server, in requests/s: nginx 39,403 at connections = 200, tiny "
        "26,144 at connections = 200 and apache 19,989 at connections = 200."
    )
    assert found.sentences[1] == "One trial of each server has no interval, so they cannot be ranked."


def test_one_trial_gives_ratios_without_an_interval_and_claims_nothing(run: Run):
    first = [record for record in run.records if record.block == 0 and record.kind == "point"]
    at_ten = [one for one in first if one.point == {"connections": 10}]
    found = answer_of(synthetic.with_records(run, at_ten))
    nginx, tiny, apache = (synthetic.SERVERS[name].throughput_rps(10) for name in ("nginx", "tiny", "apache"))
    ratios = sorted((("tiny", tiny / nginx), ("apache", apache / nginx)), key=lambda one: -one[1])
    named = " and ".join(f"{name} {ratio:.3f}" for name, ratio in ratios)
    assert found.sentences[-1] == (
        f"Measured once, without an interval, in multiples of the throughput of nginx: {named}; "
        "another trial may give other ratios."
    )
    assert not any(word in found.text for word in ("highest throughput,", "told apart", "better"))


def test_ratios_of_a_trial_that_only_some_share_with_others_say_that_they_are_of_that_one(run: Run):
    points = [one for one in run.records if one.kind == "point" and one.point == {"connections": 10}]
    # tiny is left with one trial, which nginx has, and nginx with another one, too.
    kept = [one for one in points if (one.server, one.block) in {("nginx", 0), ("nginx", 1), ("tiny", 0)}]
    ratio = synthetic.SERVERS["tiny"].throughput_rps(10) / synthetic.SERVERS["nginx"].throughput_rps(10)
    assert answer_of(synthetic.with_records(run, kept)).sentences[-1] == (
        "In the one trial that each shares with nginx, without an interval, in multiples of the throughput "
        f"of nginx: tiny {ratio:.3f}; another trial may give other ratios."
    )


COST = re.compile(r"in multiples of the (?P<title>[^:]*) of nginx: (?P<ratios>.*)")


@pytest.mark.parametrize(
    "question", ["What does the proxy cost?", "Which overhead has TLS?", "What are the costs?"]
)
def test_a_question_for_a_cost_is_answered_by_the_ratio_of_each_server(tmp_path: Path, question: str):
    run = asking(read_run(synthetic.write_points(tmp_path, 10)), question=question)
    found = [match for one in answer_of(run).sentences if (match := COST.search(one))]
    assert [match["title"] for match in found] == ["throughput", "CPU time per request"]
    nginx, *others = (synthetic.SERVERS[name] for name in ("nginx", "apache", "tiny"))
    throughputs = [one.throughput_rps(10) / nginx.throughput_rps(10) for one in others]
    processor = [one.cpu_us / nginx.cpu_us for one in others]
    for match, truth in zip(found, (throughputs, processor), strict=True):
        ratios = dict(re.findall(r"(apache|tiny) (\S+) \(", match["ratios"]))
        assert [float(ratios[name]) for name in ("apache", "tiny")] == pytest.approx(truth, rel=0.005)


def test_another_question_is_answered_without_them(tmp_path: Path):
    run = asking(read_run(synthetic.write_points(tmp_path, 10)), question="Which costume fits?")
    assert not any("multiples" in one for one in answer_of(run).sentences)


def test_a_server_at_one_point_answers_there_and_not_at_most(tmp_path: Path):
    only = read_run(synthetic.write_points(tmp_path, 1))
    alone = [one for one in only.points if one.server == "nginx"]
    [sentence] = answer_of(synthetic.with_records(only, alone)).sentences
    # 42,000 at most, half of it at 9 connections: 4,200 at one, divided and multiplied by 1.050422.
    assert sentence == "nginx answers 4,200 (3,998 to 4,412) requests/s at connections = 1."


def test_a_server_alone_answers_up_to_its_highest_throughput(run: Run):
    alone = [one for one in run.points if one.server == "nginx"]
    [sentence] = answer_of(synthetic.with_records(run, alone)).sentences
    # 42000 * 200 / 209, divided and multiplied by 1.050422.
    assert sentence == "nginx answers up to 40,191 (38,262 to 42,218) requests/s, at connections = 200."


@pytest.mark.parametrize(
    ("question", "servers"),
    [
        ("Which is the fastest, and what happens to its latency?", ["nginx", "apache"]),
        ("Which is the fastest?", []),
    ],
)
def test_a_question_for_latency_beside_throughput_is_answered_of_those_ahead(run: Run, question, servers):
    _, *said = answer_of(asking(run, question=question)).sentences
    assert len(said) == len(servers)
    for sentence, server in zip(said, servers, strict=True):
        least, most = (
            geometric_mean(
                one.load.latency_ms.p50
                for one in run.points
                if (one.server, one.point["connections"]) == (server, connections)
            )
            for connections in (1, 200)
        )
        assert sentence.startswith(f"The p50 of {server} is {least:.3g} (")
        assert f" ms at connections = 1 and {most:.3g} (" in sentence
        assert sentence.endswith(" ms at connections = 200.")


def test_a_question_for_latency_is_not_answered_twice(run: Run):
    asked = asking(run, question="Which latency has it?", answer_by="p50")
    assert not any(one.startswith("The p50 of") for one in answer_of(asked).sentences)


def test_the_highest_throughput_of_loads_that_are_alike_has_the_interval_of_the_peak(run: Run):
    alone = [one for one in run.points if one.server == "nginx"]
    top = {one.trial: one.load.rate_rps.answered or 0.0 for one in alone if one.point["connections"] == 200}
    # By turns more and less than at 200 connections, so that neither load is shown to beat the other.
    scattered = [
        synthetic.with_throughput(
            one, (1.3, 0.8)[one.block % 2] * top[one.trial] / (one.load.rate_rps.answered or 1.0)
        )
        if one.point["connections"] == 100
        else one
        for one in alone
    ]
    found = synthetic.with_records(run, scattered)
    [shape] = [one for part in analyse(found).shapes for one in part.shapes if one.server == "nginx"]
    assert shape.peak is not None
    assert len(shape.peak.alike or ()) > 1
    for of_keys in (found, with_one_depth(found)):
        [sentence] = answer_of(of_keys).sentences
        assert f"answers up to {text.estimate(shape.peak.value)} requests/s" in sentence


def test_under_a_rate_a_server_alone_answers_by_its_latency(run: Run):
    # Under a schedule the throughput is what was asked for.
    study = {**run.run.study, "load": {**run.run.study["load"], "model": "open"}}
    open_loop = replace(run, run=run.run.model_copy(update={"study": study}))
    alone = [one for one in run.points if one.server == "nginx" and one.block == 0]
    [sentence] = answer_of(synthetic.with_records(open_loop, alone)).sentences
    p99_ms = {
        point.point["connections"]: point.load.latency_ms.p99 for point in alone if point.load.latency_ms
    }
    assert sentence == (
        f"The p99 of nginx is {p99_ms[1]:.3f} ms at connections = 1 and {p99_ms[200]:.1f} ms at "
        "connections = 200."
    )


@pytest.mark.parametrize("unknown", [["p99"], ["p50", "p99"]])
def test_a_latency_that_no_trial_has_enough_answers_for_is_said_to_be_unknown(run: Run, unknown):
    study = {**run.run.study, "load": {**run.run.study["load"], "model": "open"}}
    open_loop = replace(run, run=run.run.model_copy(update={"study": study}))
    alone = [
        synthetic.with_load(one, latency_ms=one.load.latency_ms.model_copy(update=dict.fromkeys(unknown)))
        for one in run.points
        if one.server == "nginx"
    ]
    first, instead = answer_of(synthetic.with_records(open_loop, alone)).sentences
    assert first == "The p99 is not known: no trial has enough answers for it; longer loads give more."
    # 42000 * 200 / 209, divided and multiplied by 1.050422.
    highest = "nginx answers up to 40,191 (38,262 to 42,218) requests/s, at connections = 200."
    assert instead.startswith("The p50 of nginx is ") if unknown == ["p99"] else instead == highest


def test_two_servers_without_the_latency_asked_for_are_compared_by_their_medians(run: Run):
    study = {**run.run.study, "load": {**run.run.study["load"], "model": "open"}}
    open_loop = replace(run, run=run.run.model_copy(update={"study": study}))
    without = [
        synthetic.with_load(one, latency_ms=one.load.latency_ms.model_copy(update={"p99": None}))
        for one in run.points
    ]
    _, instead, *_ = answer_of(synthetic.with_records(open_loop, without)).sentences
    assert instead.startswith("Over the curve, nginx has the lowest p50, ")


def test_where_all_points_are_invalid_the_answer_gives_the_most_frequent_reason(run: Run):
    resets = VerdictReason.of("errors", "12 % of the requests failed (60 resets)")
    late = VerdictReason.of("generator_late", "the generator itself was late")
    # nginx was measured at eight points in three trials, tiny is kept in one.
    records = [
        synthetic.with_load(
            record,
            verdict=Verdict(
                status="invalid", reasons=[late if record.server == "tiny" else resets], notes=[]
            ),
        )
        for record in run.points
        if record.server == "nginx" or record.trial == 2
    ]
    found = answer_of(synthetic.with_records(run, records))
    assert found.sentences == ["No point can be used: all of them are invalid."]
    where = "of nginx at connections = 1 to 200"
    assert found.causes == [f"The most frequent reason, {where}: 12 % of the requests failed (60 resets)."]
    alone = answer_of(synthetic.with_records(run, records[:1]))
    assert alone.sentences == ["The load cannot be used: it is invalid."]
    one_usable = [*records, next(one for one in run.points if one.server == "apache")]
    assert "most frequent reason" not in answer_of(synthetic.with_records(run, one_usable)).text


@pytest.mark.parametrize("reason", ["the server ended", "the server ended."])
def test_where_every_trial_failed_the_answer_gives_the_first_reason(run: Run, reason: str):
    [failure] = run.failures
    said = failure.model_copy(update={"reason": failure.reason.model_copy(update={"text": reason})})
    found = answer_of(synthetic.with_records(run, [said]))
    assert found.text == (
        f"Nothing was measured: every trial failed. The first was of {failure.server}: the server ended."
    )


def test_without_any_server_installed_the_answer_says_so(run: Run):
    missing = {"absent": run.run.servers["absent"]}
    nothing = replace(run, run=run.run.model_copy(update={"servers": missing, "order": []}), records=[])
    assert answer_of(nothing).sentences == ["Nothing was measured: no server of the study is installed."]


def test_figures_that_are_not_to_be_used_are_named_beside_the_answer_with_what_happened():
    assert caution([finding(1), finding(1, server="tiny", weight="distorts")]) is None
    odd = [
        finding(5, 200, weight="invalidates", code="rig_limit"),
        finding(1, server="tiny", weight="invalidates", code="rig_limit"),
        finding(1, server="tiny", weight="invalidates", code="wrong_answers"),
    ]
    both = [finding(5, 200, weight="invalidates", code=code) for code in ("rig_limit", "wrong_answers")]
    assert caution(both) == (
        "Do not rely on the figures of nginx at connections = 5 and 200: "
        "the rig was the limit; requests without a correct answer."
    )
    assert caution([finding(1), *odd]) == (
        "Do not rely on the figures of nginx at connections = 5 and 200 and tiny at connections = 1: "
        "the rig was the limit. "
        "Do not rely on the figures of tiny at connections = 1: requests without a correct answer."
    )


def test_the_page_answers_then_shows_the_curves_then_the_findings_and_counts_the_verdicts(run: Run):
    page = render_report(run.folder)
    assert page.index('id="answer"') < page.index('id="throughput-1"') < page.index('id="findings"')
    for count, status in ((67, "valid"), (1, "suspect"), (1, "invalid")):
        assert f'<dt>{count}</dt><dd><span class="verdict {status}">{status}</span></dd>' in page


def test_a_shown_cause_of_what_stands_out_is_part_of_the_answer():
    # By construction 500 connections at each of two points in five trials: 80 took 1 s and 20 took 3 s.
    def overflown(record: dict[str, Any], _trial: int, connections: float) -> None:
        if connections >= 50:
            retried_connects(record, [0.5] * 400 + [1001] * 80 + [3003] * 20, overflows=34_994)

    [cause] = answer_of(planted_run(overflown)).causes
    assert cause.startswith("nginx at connections = 50 and 100: 1,000 connections took about 1, 3 s")
    assert "because the server's listen queue (backlog 511) overflowed" in cause


def test_the_answer_names_no_likely_cause_and_at_most_three_others_each_cause_once():
    assert causes([finding(1)]) == []
    shown = [
        finding(place, code=code, server=server, briefly="it overflowed")
        for place, code in enumerate([*FINDINGS][: MOST_CAUSES + 1], start=1)
        for server in ("a", "b")
    ]
    named = causes(shown)
    assert len(named) == MOST_CAUSES
    assert named[0] == "a at connections = 1, in 3 of 5 trials: it overflowed; likewise b."


def test_a_cause_that_was_seen_in_all_trials_does_not_say_in_how_many():
    code = next(iter(FINDINGS))
    always = finding(1, code=code, server="a", briefly="it overflowed", trials=[0, 1, 2, 3, 4])
    assert causes([always]) == ["a at connections = 1: it overflowed."]


def test_a_server_with_another_cause_is_not_named_likewise():
    every, after = "It closes each connection.", "It closes one after 101 answers."
    said = {"gunicorn": every, "apache": after, "mini": every}
    shown = [finding(1, server=name, briefly="it closes", cause=why) for name, why in said.items()]
    assert causes(shown) == [
        "gunicorn at connections = 1, in 3 of 5 trials: it closes; likewise mini; with another cause apache."
    ]


def test_causes_that_differ_in_numbers_alone_are_the_same():
    shown = [
        finding(1, server=name, briefly="it waits", cause=f"Only {count} of {name} are accepted.")
        for name, count in (("a", "511"), ("b", "4,096"))
    ]
    assert causes(shown) == ["a at connections = 1, in 3 of 5 trials: it waits; likewise b."]


def test_that_no_server_keeps_the_limits_is_said_of_those_that_could_be_judged():
    run = machine_run()
    records = [synthetic.spoiled(one) if one.server == "t2.large" else one for one in run.points]
    limited = answer_of(synthetic.with_records(run, records), "p90 < 0.1ms").sentences[0]
    assert limited == (
        "No server that could be judged meets p90 < 0.1ms at any measured load. t2.large could not be judged."
    )
