"""Servers under several works, such as two workloads: each is ranked among those that do the same."""

import dataclasses

import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.works import works
from loadcurve.report.answer import answer
from loadcurve.report.formats.tables import report_tables
from loadcurve.report.ranking import ranking_content
from loadcurve.report.section import Report
from loadcurve.result.folder import Run


def with_arm_of_nginx(run: Run, *, requests: list[str], is_nginx: bool = True) -> Run:
    """Return the run as if apache were an arm of nginx, or itself, that is asked for something else."""
    common = run.run.study["load"]
    study = {**run.run.study, "servers": {"apache": {"load": {**common, "requests": requests}}}}
    servers = {**run.run.servers}
    if is_nginx:
        servers["apache"] = servers["nginx"]
    record = run.run.model_copy(update={"study": study, "servers": servers})
    return dataclasses.replace(run, run=record)


@pytest.fixture(scope="module")
def divided(run: Run) -> Analysis:
    return analyse(with_arm_of_nginx(run, requests=["/other"]))


def test_servers_are_divided_by_what_they_are_asked_for(divided: Analysis):
    found = works(divided)
    measured = [[curve.server for curve in one.analysis.curves] for one in found]
    assert measured == [["nginx", "tiny"], ["apache"]]
    assert found[1].options == {"requests": ["/other"]}


def test_the_answer_compares_nothing_with_what_does_other_work(divided: Analysis):
    said = answer(divided)
    assert said.groups == []
    assert [one.startswith("With requests = ") for one in said.sentences] == [True, True]
    first, second = said.sentences
    assert "apache" not in first
    assert second.startswith("With requests = /other: apache ")
    assert not any(name in second for name in ("nginx", "tiny"))


def test_neither_the_ranking_nor_its_tables_have_a_pair_of_two_works(run: Run, divided: Analysis):
    content = ranking_content(divided)
    assert content is not None
    assert "apache" not in content.ranks
    assert all("requests = " in title for title in content.over_curve)
    ratios = report_tables(Report(run, divided))["ratios"]
    assert ratios.height > 0
    assert "apache" not in {*ratios["first"], *ratios["second"]}


def test_what_a_run_can_see_is_of_pairs_of_one_work(divided: Analysis):
    noises = works(divided)[0].analysis.noise
    assert {one.groups for one in noises if one.spread is not None} == {(("nginx", "tiny"),)}
    content = ranking_content(divided)
    assert content is not None
    assert content.visible
    assert all(one.startswith("With requests = ") for one in content.visible)
    assert not any("apache" in one for one in content.visible)


def test_other_paths_of_another_server_may_be_the_same_page_and_are_compared(run: Run):
    assert works(analyse(with_arm_of_nginx(run, requests=["/other"], is_nginx=False))) == []


def test_servers_that_are_asked_for_the_same_are_one_work(run: Run):
    same = run.run.study["load"]["requests"]
    assert works(analyse(with_arm_of_nginx(run, requests=same))) == []
