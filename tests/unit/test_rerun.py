"""A run that is measured again: when its figures are reproduced, when not, and when nobody can tell."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.curves import Curve, CurvePoint, Figure, Requests
from loadcurve.analysis.publication import Publication, published_run
from loadcurve.analysis.rerun import Rerun, judge_published, judge_rerun
from loadcurve.analysis.rerun_differences import of_conditions
from loadcurve.analysis.rerun_shapes import shapes_between
from loadcurve.cli.rerun import exit_code_of
from loadcurve.report.rerun import rerun_in_words, rerun_json, rerun_lines
from loadcurve.result.folder import read_run
from loadcurve.result.inputs import LeftOut
from loadcurve.result.measures import THROUGHPUT
from loadcurve.result.publication import publish_run, read_published_file
from loadcurve.result.records import FailureRecord, PointRecord
from support import synthetic_run as synthetic
from support import terminal
from support.command import Command

Record = PointRecord | FailureRecord


def analysed(folder: Path, change: Callable[[PointRecord], float] | None = None, **host: Any) -> Analysis:
    """A run with each point's throughput times a factor, on a machine with these facts."""
    return analyse(read_run(analysed_folder(folder, change, **host)))


def analysed_folder(folder: Path, change: Callable[[PointRecord], float] | None = None, **host: Any) -> Path:
    """Write such a run, and return its folder."""
    record = synthetic.run_record()
    known = {"cpu_model": "One", "memory_bytes": 2**33, "cpu_topology": {"0": {}, "1": {}}}
    record = record.model_copy(update={"host": record.host | known | host})
    records = [
        synthetic.with_throughput(one, change(one)) if change and isinstance(one, PointRecord) else one
        for one in synthetic.trial_records(record)
    ]
    synthetic.write_run(folder, record, records)
    return folder


def nginx_by(factor: float) -> Callable[[PointRecord], float]:
    """Let one server have this times its throughput."""
    return lambda one: factor if one.server == "nginx" else 1.0


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """The published run."""
    return analysed(tmp_path_factory.mktemp("runs") / "base")


def outcomes(rerun: Rerun) -> dict[str, str]:
    """What is said of each server."""
    return {one.server: one.outcome for one in rerun.figures}


def words(rerun: Rerun) -> str:
    """All sentences."""
    return " ".join(rerun_in_words(rerun))


def test_the_same_figures_are_reproduced_with_the_same_order(base):
    rerun = judge_rerun(base, base, 0.5)
    assert rerun.outcome == "reproduced"
    assert "Reproduced: each figure is within 50 % of the published one." in words(rerun)
    assert rerun.order.same
    assert not rerun.order.reversed
    assert not rerun.order.unknown


def test_a_figure_that_is_half_the_published_one_is_not_reproduced(base, tmp_path):
    rerun = judge_rerun(base, analysed(tmp_path, nginx_by(0.5)), 0.1)
    assert (rerun.outcome, outcomes(rerun)["nginx"]) == ("not_reproduced", "not_reproduced")
    assert "Not reproduced: nginx differs by more than 10 %, and not by chance." in words(rerun)
    [found] = [one for one in rerun.figures if one.server == "nginx"]
    assert math.exp(found.change.ratio.logarithm) == pytest.approx(0.5, rel=0.01)


def test_intervals_that_are_wider_than_the_margin_tell_nothing(base):
    rerun = judge_rerun(base, base, 1e-6)
    assert rerun.outcome == "cannot_tell"
    assert "Not decided" in words(rerun)


def test_a_server_in_another_place_of_the_order_is_named(base, tmp_path):
    rerun = judge_rerun(base, analysed(tmp_path, nginx_by(1e-3)), 0.1)
    assert rerun.order.reversed
    assert all(pair[0] == "nginx" for pair in rerun.order.reversed)
    assert "In the other order: nginx was better than" in words(rerun)


@pytest.mark.parametrize("host", [{"cpu_model": "Two"}, {"memory_bytes": 2**34}, {"cpu_model": None}])
def test_figures_of_another_or_an_unknown_machine_are_not_compared_but_their_order_is(base, tmp_path, host):
    rerun = judge_rerun(base, analysed(tmp_path, nginx_by(0.5), **host), 0.1)
    assert set(outcomes(rerun).values()) == {"another_machine"}
    assert rerun.outcome == "another_machine"
    assert "another machine" in words(rerun)
    assert "Order:" in words(rerun)
    assert rerun.order.same


@pytest.mark.parametrize(("factor", "outcome"), [(1.0, "reproduced"), (0.5, "not_reproduced")])
def test_a_published_file_is_judged_as_the_folder_that_it_was_made_of(tmp_path, factor, outcome):
    folder = analysed_folder(tmp_path / "base")
    new = analysed(tmp_path / "new", nginx_by(factor))
    of_folder = judge_rerun(analyse(read_run(folder)), new, 0.5)
    of_file = judge_published(published_run(folder, Publication()), new, 0.5)
    assert (of_file.outcome, outcomes(of_file)["nginx"]) == (of_folder.outcome, outcome)
    assert outcomes(of_file) == outcomes(of_folder)
    assert of_file.order == of_folder.order
    for one, other in zip(of_file.figures, of_folder.figures, strict=True):
        assert one.change.ratio.logarithm == pytest.approx(other.change.ratio.logarithm, abs=1e-5)


def test_a_published_file_of_another_machine_is_compared_by_order_alone(tmp_path):
    run = published_run(analysed_folder(tmp_path / "base"), Publication())
    elsewhere = run.machine.model_copy(update={"fingerprint": "b" * 64})
    new = analysed(tmp_path / "new", nginx_by(0.5))
    rerun = judge_published(run.model_copy(update={"machine": elsewhere}), new, 0.1)
    assert (rerun.outcome, set(outcomes(rerun).values())) == ("another_machine", {"another_machine"})


def with_nginx(folder: Path, change: Callable[[PointRecord], float] | None = None, **facts: Any) -> Path:
    """Write a run whose nginx has other facts than that of the published one."""
    analysed_folder(folder, change)
    record = read_run(folder).run
    nginx = record.servers["nginx"].model_copy(update=facts)
    synthetic.write_run(
        folder,
        record.model_copy(update={"servers": record.servers | {"nginx": nginx}}),
        [
            synthetic.with_throughput(one, change(one)) if change and isinstance(one, PointRecord) else one
            for one in synthetic.trial_records(record)
        ],
    )
    return folder


OTHERS: dict[str, tuple[dict[str, Any], str, str]] = {
    "version": ({"version": "1.99.0"}, "is of another version", "version: "),
    "program": ({"binary_sha256": "d" * 64}, "is of another build", "sha256.program: not the same"),
    "configuration": (
        {"configuration": {"nginx.conf": "user www;\nworker_processes 7;\n"}},
        "runs with another configuration",
        "configuration.nginx.conf: not the same",
    ),
    "settings": ({"settings": {"workers": 7}}, "runs with other settings", "settings.workers: "),
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("by_file", [False, True])
def test_a_verdict_says_that_a_server_is_not_the_published_one(tmp_path, kind, by_file):
    known = {
        "binary_sha256": "c" * 64,
        "configuration": {"nginx.conf": "user www;\nworker_processes 1;\n"},
        "settings": {"workers": 1},
    }
    facts, said, line = OTHERS[kind]
    folder = with_nginx(tmp_path / "base", **known)
    new = analyse(read_run(with_nginx(tmp_path / "new", **known | facts)))
    if by_file:
        rerun = judge_published(published_run(folder, Publication()), new, 0.5)
    else:
        rerun = judge_rerun(analyse(read_run(folder)), new, 0.5)
    assert {one.server: one.differs for one in rerun.figures if one.differs} == {"nginx": (kind,)}
    assert f"Reproduced, but nginx {said}: each figure" in words(rerun)
    shown = terminal.printed(rerun_lines(rerun))
    assert f"nginx: {line}" in shown
    assert rerun_json(rerun)["figures"][0]["differs"] == [kind]


def test_what_is_not_reproduced_by_another_version_may_be_the_versions_doing(tmp_path):
    folder = analysed_folder(tmp_path / "base")
    new = analyse(read_run(with_nginx(tmp_path / "new", nginx_by(0.5), version="1.99.0")))
    rerun = judge_published(published_run(folder, Publication()), new, 0.1)
    assert rerun.outcome == "not_reproduced"
    assert "and not by chance; nginx is of another version." in words(rerun)


@pytest.mark.parametrize(
    ("host", "line"),
    [({"kernel": "9.9.9"}, "kernel: "), ({"operating_system": "Another 1"}, "operating_system: ")],
)
def test_another_system_on_the_same_machine_is_named_beside_a_published_file(tmp_path, host, line):
    run = published_run(analysed_folder(tmp_path / "base"), Publication())
    rerun = judge_published(run, analysed(tmp_path / "new", **host), 0.5)
    assert rerun.outcome == "reproduced"
    assert line in terminal.printed(rerun_lines(rerun))


def test_another_load_than_the_published_files_is_named_by_its_option(tmp_path):
    run = published_run(analysed_folder(tmp_path / "base"), Publication())
    other = run.model_copy(update={"load": run.load | {"pipeline": 16}, "conditions": "e" * 64})
    rerun = judge_published(other, analysed(tmp_path / "new"), 0.5)
    assert "pipeline: 16 → not reported" in terminal.printed(rerun_lines(rerun))
    assert "Reproduced, but the load or its content is another one" in words(rerun)


def with_own_loads(folder: Path, calls: int, *left: str) -> Path:
    """A run of these servers, in which the loads of apache and tiny have options of their own."""
    record = synthetic.run_record()
    servers = {name: dict(record.study.get("servers", {}).get(name, {})) for name in record.servers}
    servers["apache"]["load"], servers["tiny"]["load"] = {"calls": calls}, {"calls": 5}
    measured = {name: one for name, one in record.servers.items() if not left or name in left}
    record = record.model_copy(update={"study": record.study | {"servers": servers}, "servers": measured})
    records = [one for one in synthetic.trial_records(record) if one.server in measured]
    return synthetic.write_run(folder, record, records)


@pytest.mark.parametrize(("rows", "calls", "is_other"), [
    (["nginx"], 7, False), (["apache"], 7, False), (["nginx", "apache"], 7, False), (["apache"], 9, True),
])  # fmt: skip
def test_the_loads_of_servers_that_are_not_measured_again_are_no_difference(rows, calls, is_other, tmp_path):
    folder = with_own_loads(tmp_path / "base", 7)
    new = analyse(read_run(with_own_loads(tmp_path / "new", calls, *rows)))
    published = published_run(folder, Publication())
    assert published.own_load("apache") == {"calls": 7}
    for found in (judge_published(published, new, 0.1), judge_rerun(analyse(read_run(folder)), new, 0.1)):
        assert [one.name for one in found.conditions] == (["servers.apache.calls"] if is_other else [])
        assert ("the load or its content is another one" in words(found)) == is_other


def test_an_option_that_the_publishing_version_did_not_know_is_no_difference_where_it_is_off(tmp_path):
    run = published_run(analysed_folder(tmp_path / "base"), Publication())
    new = analysed(tmp_path / "new")
    new.run.conditions["load"]["early_data"] = 0.0
    assert judge_published(run, new, 0.5).conditions == ()
    new.run.conditions["load"]["early_data"] = 0.5
    [found] = judge_published(run, new, 0.5).conditions
    assert (found.name, found.base, found.new) == ("early_data", None, 0.5)


[EARLIER] = (Path(__file__).parents[2] / "docs" / "example-site" / "ranking-http3" / "results").glob(
    "*/*.json"
)
"""A file of a version that did not know the option ``sockets``, on a file of 1 KiB."""


@pytest.mark.parametrize(
    ("option", "content", "said"),
    [
        ({"sockets": None}, 1024, []),
        ({"sockets": None}, 2048, [("content", "content")]),
        ({"sockets": "thread"}, 1024, [("sockets", "load")]),
        ({"sockets": "thread"}, 2048, [("sockets", "load"), ("content", "content")]),
        ({"streams": 8}, 1024, [("streams", "load")]),
    ],
)
def test_a_file_of_a_version_without_an_option_has_the_load_of_one_that_has_it_off(
    base, option, content, said
):
    earlier = read_published_file(EARLIER)
    conditions = base.run.conditions | {"load": earlier.load | option, "content": {"1k.txt": content}}
    new = dataclasses.replace(base, run=dataclasses.replace(base.run, conditions=conditions))
    found = [one for one in of_conditions(earlier, new) if one.aspect in {"load", "content"}]
    assert [(one.name, one.aspect) for one in found] == said


def test_what_a_published_file_leaves_out_as_private_is_no_difference(tmp_path):
    settings = {"log": "/home/alice/nginx.log", "workers": 1}
    run = published_run(with_nginx(tmp_path / "base", settings=settings), Publication())
    settings = settings | {"log": "/home/bob/nginx.log"}
    new = analyse(read_run(with_nginx(tmp_path / "new", settings=settings)))
    assert [one.differs for one in judge_published(run, new, 0.5).figures] == [(), (), ()]


ELSEWHERE = {"cpu_model": "Two"}


def test_another_machine_that_is_half_as_fast_at_every_point_shows_the_same_shape(base, tmp_path):
    rerun = judge_rerun(base, analysed(tmp_path, lambda _: 0.5, **ELSEWHERE), 0.1)
    assert {one.server: one.outcome for one in rerun.shapes}["nginx"] == "alike"
    assert "Highest at the published point: nginx" in words(rerun)
    assert "the same shape" in terminal.printed(rerun_lines(rerun))


def test_another_machine_whose_curve_falls_shows_another_shape_and_another_peak(base, tmp_path):
    def falls(one: PointRecord) -> float:
        is_high = one.server == "nginx" and (one.point or {})["connections"] >= 50
        return 0.5 if is_high else 1.0

    rerun = judge_rerun(base, analysed(tmp_path, falls, **ELSEWHERE), 0.1)
    [nginx] = [one for one in rerun.shapes if one.server == "nginx"]
    assert nginx.outcome == "differs"
    # Three of eight points at half: each curve over its mean differs by 0.5 / 0.5^(3/8) there.
    at = {one.point["connections"]: math.exp(one.ratio.logarithm) for one in nginx.points}
    assert at[200] == pytest.approx(0.5 ** (5 / 8), rel=1e-6)
    assert at[1] == pytest.approx(0.5 ** (-3 / 8), rel=1e-6)
    assert "Another shape, each curve over its own mean: nginx has 0.65" in words(rerun)
    assert "Highest elsewhere: nginx at connections = 25, published at connections = 200" in words(rerun)
    assert rerun_json(rerun)["shapes"][0]["outcome"] == "differs"


def falling(one: PointRecord) -> float:
    """Let the curve of nginx fall where it was level, and those of the others stay."""
    return 0.5 if one.server == "nginx" and (one.point or {})["connections"] >= 50 else 1.0


def uneven(one: PointRecord) -> float:
    """Let the points of each trial scatter, each trial's in another way."""
    return 1 + 0.2 * ((one.trial + len(str((one.point or {})["connections"]))) % 3 - 1)


EXIT_CODES: dict[str, tuple[Callable[[PointRecord], float], dict[str, Any], float, tuple[int, int]]] = {
    "the same figures": (lambda _: 1.0, {}, 0.5, (0, 0)),
    "half of a figure": (nginx_by(0.5), {}, 0.1, (3, 3)),
    "intervals wider than the margin": (lambda _: 1.0, {}, 1e-6, (0, 5)),
    "half of all figures elsewhere": (lambda _: 0.5, ELSEWHERE, 0.5, (0, 0)),
    "another shape elsewhere": (falling, ELSEWHERE, 0.1, (3, 3)),
    "another order elsewhere": (nginx_by(1e-3), ELSEWHERE, 0.5, (3, 3)),
    "shapes that are not decided elsewhere": (uneven, ELSEWHERE, 0.01, (0, 5)),
}
"""What a second run finds, on which machine, within which margin; its exit codes, also with --strict."""


@pytest.mark.parametrize("case", EXIT_CODES)
def test_it_ends_with_3_for_what_is_shown_and_with_5_for_what_is_not_decided_if_that_is_to_fail(
    base, tmp_path, case
):
    change, host, margin, codes = EXIT_CODES[case]
    rerun = judge_rerun(base, analysed(tmp_path, change, **host), margin)
    assert tuple(exit_code_of(rerun, is_strict=strict) for strict in (False, True)) == codes


def test_a_server_without_two_points_in_every_trial_is_named_as_one_without_a_shape(base, tmp_path):
    rerun = judge_rerun(base, analysed(tmp_path, **ELSEWHERE), 0.1)
    of_others = tuple(one for one in rerun.shapes if one.server != "tiny")
    said = words(dataclasses.replace(rerun, shapes=of_others))
    assert "Fewer than two points are in every trial, so no shape is compared: tiny." in said
    assert "Fewer than two points" not in words(rerun)


def test_points_that_a_trial_of_either_run_lacks_are_named_as_not_compared(base):
    """One trial of apache ended before its sixth point, and one of tiny is invalid at 100 connections."""
    rerun = judge_rerun(base, base, 0.5)
    assert (
        "Not in every trial of both runs, and so not compared: apache at connections = 50, 100 and 200; "
        "tiny at connections = 100." in words(rerun)
    )
    left_out = {one["server"]: one["left_out"] for one in rerun_json(rerun)["figures"]}
    assert left_out["nginx"] == []
    assert left_out["tiny"] == [{"connections": 100}]


def test_several_servers_that_are_not_reproduced_are_named_in_one_sentence(base, tmp_path):
    said = words(judge_rerun(base, analysed(tmp_path, lambda _: 0.5), 0.1))
    assert "Not reproduced: nginx, apache and tiny differ by more than 10 %, and not by chance." in said


def curves_of_noise(source: np.random.Generator, level: float, trials: int = 5, points: int = 8) -> Curve:
    """One server whose true curve is level, each trial faster or slower as a whole, and each point of it."""
    values = level * np.exp(source.normal(0, 0.1, (1, trials)) + source.normal(0, 0.03, (points, trials)))
    return Curve(
        "a",
        [
            CurvePoint(
                {"connections": place + 1.0}, list(range(trials)), list(range(trials)), ["valid"] * trials,
                Requests([], [], []), {THROUGHPUT.column: Figure(None, values[place].tolist())},
            )
            for place in range(points)
        ],
    )  # fmt: skip


def test_equal_shapes_are_told_apart_in_at_most_5_percent_of_pairs():
    source, pairs = np.random.default_rng(20261129), 400
    found = [
        one
        for _ in range(pairs)
        for one in shapes_between(
            [curves_of_noise(source, 1.0)], [curves_of_noise(source, 7.0)], THROUGHPUT, 1e-9
        )
    ]
    # Three standard errors of a binomial share above the rate that is claimed.
    most = 0.05 + 3 * math.sqrt(0.05 * 0.95 / pairs)
    assert sum(one.outcome == "differs" for one in found) / pairs <= most
    assert sum(one.peaks.told_apart for one in found) / pairs <= most


def test_a_single_point_and_a_single_trial_have_no_shape_to_compare():
    source = np.random.default_rng(1)
    single = curves_of_noise(source, 1.0, points=1)
    assert list(shapes_between([single], [single], THROUGHPUT, 0.1)) == []
    once = curves_of_noise(source, 1.0, trials=1)
    [found] = shapes_between([once], [once], THROUGHPUT, 0.1)
    assert (found.outcome, found.peaks) == ("cannot_tell", None)


def test_a_study_out_of_a_published_file_runs_only_where_the_person_agrees(tmp_path):
    command = Command(tmp_path)
    synthetic.write_run(command.work / "run", synthetic.run_record())
    run = published_run(command.work / "run", Publication())
    publish_run(command.work, run)
    finished = command.run("rerun", run.place)
    assert finished.returncode == 2
    assert "it is part of a published result, and a study runs commands" in finished.stderr
    assert not (command.work / "loadcurve-runs").exists()


def test_a_published_file_without_its_study_cannot_be_measured_again(tmp_path):
    command = Command(tmp_path)
    synthetic.write_run(command.work / "run", synthetic.run_record())
    run = published_run(command.work / "run", Publication()).model_copy(update={"study": None})
    publish_run(command.work, run)
    finished = command.run("rerun", run.place, "--yes")
    assert finished.returncode == 2
    assert "was published without its study" in finished.stderr


def test_it_fits_80_columns_and_is_plain_data_for_programs(base, tmp_path):
    rerun = judge_rerun(base, analysed(tmp_path, nginx_by(0.5)), 0.1)
    shown = terminal.printed(rerun_lines(rerun))
    assert "not reproduced" in shown
    assert "0.50" in shown
    assert rerun_json(rerun)["outcome"] == "not_reproduced"


def test_long_names_that_begin_alike_are_told_apart_at_80_columns(base, tmp_path):
    rerun = judge_rerun(base, analysed(tmp_path, nginx_by(0.5)), 0.1)
    [one, *_] = rerun.figures
    names = [f"nginx-workers-{workers}-access_log-{log}" for workers in (1, 2) for log in ("true", "false")]
    figures = [dataclasses.replace(one, server=name) for name in names]
    shown = terminal.printed(rerun_lines(dataclasses.replace(rerun, figures=figures)))
    of_rows = {line.split()[0] for line in shown.splitlines() if line.startswith("nginx-wo…")}
    assert len(of_rows) == len(names)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--within", "5"], 'did you mean "5%"?'),
        (["--row", "nginks"], "the run has no such server; expected one of"),
        ([], "a study runs commands; nothing was run"),
    ],
)
def test_what_cannot_be_measured_again_is_refused_before_anything_runs(words, said, tmp_path):
    command = Command(tmp_path)
    synthetic.write_run(command.work / "run", synthetic.run_record())
    finished = command.run("rerun", "run", *words)
    assert finished.returncode == 2
    assert said in finished.stderr
    assert not (command.work / "loadcurve-runs").exists()


def test_a_run_is_not_reproduced_by_those_of_its_optional_servers_that_are_installed_here(base):
    servers = {name: one for name, one in base.run.servers.items() if name != "tiny"}
    left_out = LeftOut(servers=["tiny"], installable=[], install=None)
    new = dataclasses.replace(
        base,
        run=dataclasses.replace(base.run, servers=servers, left_out=left_out),
        curves=[one for one in base.curves if one.server != "tiny"],
    )
    rerun = judge_rerun(base, new, 0.5)
    assert (rerun.outcome, outcomes(rerun)["nginx"]) == ("cannot_tell", "reproduced")
    assert "Not decided: not every published server has a usable figure here" in words(rerun)
    assert "Without a usable figure here: tiny." in words(rerun)
    assert exit_code_of(rerun, is_strict=True) == 5
