"""The page of a server on a site: versions over time, settings side by side, the lowest load, and filters."""

import re
from pathlib import Path

import pytest

from loadcurve.analysis.publication import Publication, published_run
from loadcurve.report.site.build import build_site
from loadcurve.report.site.filters import filter_of
from loadcurve.report.site.lists import study_values
from loadcurve.report.site.server_page import server_values
from loadcurve.result.publication import PublishedRun, publish_run
from loadcurve.result.site_index import IndexedRun, joined, read_index
from loadcurve.server.catalog import languages, load_catalog
from support import synthetic_run as synthetic
from support.published_pages import published_site, two_published_runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as it was measured."""
    return synthetic.write_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def site(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one study, the second with another version and setting of nginx."""
    return published_site(folder, tmp_path_factory.mktemp("site"))


def runs_of(site: Path) -> list[IndexedRun]:
    """The runs of a site, the oldest first."""
    return sorted(read_index(site).values(), key=lambda run: run.started_at)


def test_versions_are_listed_by_when_they_were_measured_and_drawn_over_the_runs(site):
    values = server_values("nginx", runs_of(site))
    assert [(one.words, one.results) for one in values["versions"]] == [("1.26.3", 1), ("1.2.3", 1)]
    [course] = values["courses"]
    drawing = str(course.charts[0].drawing)
    # A day and below it the version, for each of both runs.
    assert [">2026-03-14<" in drawing, ">1.2.3<" in drawing] == [True, True]
    assert [">2026-03-20<" in drawing, ">1.26.3<" in drawing] == [True, True]


def test_a_server_is_drawn_over_time_without_another_one_that_had_its_name_in_another_run(folder, tmp_path):
    first, second = two_published_runs(folder)
    slugs = {"nginx": "apache", "apache": "nginx"}
    exchanged = [one.model_copy(update={"slug": slugs.get(one.slug, one.slug)}) for one in second.servers]
    for run in (first, second.model_copy(update={"servers": exchanged})):
        publish_run(tmp_path, run)
    build_site(tmp_path)
    [course] = server_values("nginx", runs_of(tmp_path))["courses"]
    assert [name for name, _ in course.lines] == ["nginx", "apache"]
    # Each of the two names has a figure of the server in one of the runs alone, and so no line between them.
    lines = re.findall(r'<path class="line" d="([^"]*)"', str(course.charts[0].drawing))
    assert [("M" in one, "L" in one) for one in lines] == [(True, False)] * 2


def test_a_run_of_a_version_that_digested_options_which_are_off_is_joined_with_newer_ones(folder, tmp_path):
    first, second = two_published_runs(folder)
    earlier = first.model_copy(update={"conditions": first.conditions_before[-1], "conditions_before": []})
    for run in (earlier, second):
        publish_run(tmp_path, run)
    # The run itself is there already, whichever version published it.
    assert publish_run(tmp_path, first) == "already there"
    for _ in range(2):
        build_site(tmp_path)
        assert len(server_values("nginx", joined(runs_of(tmp_path)))["courses"]) == 1
    page = (tmp_path / "servers" / "nginx.html").read_text()
    assert first.conditions_before[-1] not in page


@pytest.mark.parametrize("another", ["machine", "study"])
def test_runs_of_different_machines_or_studies_are_not_drawn_over_time(folder, tmp_path, another):
    first, second = two_published_runs(folder)
    elsewhere = second.machine.model_copy(update={"fingerprint": "b" * 64})
    changed = {"machine": elsewhere} if another == "machine" else {"subject": "over-tls"}
    for run in (first, second.model_copy(update=changed)):
        publish_run(tmp_path, run)
    build_site(tmp_path)
    assert server_values("nginx", runs_of(tmp_path))["courses"] == []


def test_two_settings_of_a_server_in_one_run_are_side_by_side_with_their_figures(folder, tmp_path):
    run = with_second_nginx(published_run(folder, Publication()))
    publish_run(tmp_path, run)
    build_site(tmp_path)
    [found] = server_values("nginx", runs_of(tmp_path))["settings"]
    assert found.columns == ("nginx", "nginx-2")
    assert found.differing == (("workers", ("1", "2")),)
    assert ("keep alive", "true") in found.common
    (title, (first, second)), *_ = found.figures
    assert title.startswith("throughput")
    assert first == second != ("", "", "")
    # Each server's figures are those at its peak.
    assert len(found.at) == 2
    assert all(one.startswith("connections = ") for one in found.at)
    assert f"<td>{found.at[0]}</td>" in (tmp_path / "servers" / "nginx.html").read_text()


def test_settings_that_were_changed_between_runs_are_side_by_side_the_newest_first(site):
    [found] = server_values("nginx", runs_of(site))["settings"]
    assert found.differing == (("workers", ("2", "1")),)
    assert [name.rpartition(" ")[2] for name in found.columns] == ["(1.26.3)", "(1.2.3)"]
    assert found.figures == ()


def test_the_newest_results_are_listed_and_the_page_says_how_many_of_all(site, monkeypatch):
    monkeypatch.setattr("loadcurve.report.site.server_page.RESULTS_MAX", 1)
    values = server_values("nginx", runs_of(site))
    assert [row.server.version for row, _ in values["rows"]] == ["1.26.3"]
    assert (values["count"], values["listed"]) == ("2 results", 1)


def test_the_curves_of_a_study_over_time_have_a_legend_and_the_tags_of_its_filter(site):
    # Three runs are drawn over time.
    runs = runs_of(site)
    values = study_values("three-servers", [*runs, runs[-1]], {"nginx": "C", "apache": "C", "tiny": "Rust"})
    [[one]] = values["conditions"]
    assert {"nginx", "apache", "tiny"} <= {name for name, _ in one.lines}
    drawing = str(one.charts[0].drawing)
    # A line and its shapes for each server; C is the first of the languages.
    assert (drawing.count('data-language="1"'), drawing.count('data-language="2"')) == (4, 2)


def with_second_nginx(run: PublishedRun) -> PublishedRun:
    """Return a run with a second nginx of the same figures, with two workers."""
    [nginx] = [one for one in run.servers if one.name == "nginx"]
    settings = nginx.settings | {"settings": {"workers": 2, "keep_alive": True}}
    second = nginx.model_copy(update={"name": "nginx-2", "settings": settings})
    points = [one.model_copy(update={"server": "nginx-2"}) for one in run.points if one.server == "nginx"]
    return run.model_copy(update={"servers": [*run.servers, second], "points": [*run.points, *points]})


def test_the_lowest_load_is_the_least_point_of_the_sweep_and_fixed_rates_come_before_closed_loops(site):
    closed = runs_of(site)[-1]
    values = server_values("nginx", [closed])
    [row] = values["lowest"][0].rows
    assert row.name.endswith("connections = 1")
    assert values["at_rates"] is False
    at_rates = closed.model_copy(update={"model": "open", "subject": "rates", "title": "At rates"})
    values = server_values("nginx", [closed, at_rates])
    assert [one.name for one in values["lowest"][0].rows] == ["At rates, connections = 1"]


def test_a_filter_writes_numbers_alone_into_the_style_whatever_a_file_says():
    hostile = "</style><script>"
    found = filter_of("language", "Language", ["C", hostile, "C", None])
    assert found.values == (hostile, "C")
    assert (found.tags("C"), found.tags(None), found.tags("C", hostile)) == ("2", "", "1 2")
    assert "script" not in str(found.style)


def test_every_server_of_the_catalogue_has_a_language_but_those_that_a_study_names():
    without = {entry.name for entry in load_catalog()} - languages().keys()
    assert without == {"command", "url"}


def test_nothing_is_offered_where_there_is_a_single_value():
    assert not filter_of("language", "Language", ["C", "C"]).is_offered


def test_every_rule_of_a_filter_has_its_choice_and_every_row_its_number(site):
    page = (site / "servers" / "nginx.html").read_text()
    chosen = set(re.findall(r"#(version-\d)+:checked", page))
    assert chosen == {"version-1", "version-2"}
    assert all(f'id="{one}"' in page for one in chosen)
    rows = re.findall(r'<tr data-protocol="[^"]*" data-platform="[^"]*" data-version="(\d)">', page)
    assert sorted(rows[:2]) == ["1", "2"]


def test_places_and_rows_on_the_page_of_a_study_are_by_the_measure_that_answers_it(site):
    run = runs_of(site)[-1]
    places = {"nginx": (2, 3), "apache": (1, 1), "tiny": (2, 3)}
    servers = [
        one.model_copy(
            update={
                "ranks": {"throughput_rps": (1, 1), "latency_p99_s": places[one.name]},
                "unranked": None,
            }
        )
        for one in run.servers
        if one.name in places
    ]
    run = run.model_copy(update={"ranked_by": "latency_p99_s", "servers": servers})
    [[one]] = study_values("three-servers", [run], {})["conditions"]
    assert (one.answer, [group.places for group in one.groups]) == ("p99", ["1", "2 to 3"])
    first, *others = [(row.server.name, row.rank) for row in one.rows]
    assert first == ("apache", "1")
    assert {places for _, places in others} == {"2 to 3"}


def test_of_different_loads_of_a_study_the_newest_is_first(site):
    older, newer = runs_of(site)
    newer = newer.model_copy(update={"conditions": "f" * 64})
    conditions = study_values("three-servers", [older, newer], {})["conditions"]
    assert [one.newest.place for [one] in conditions] == [newer.place, older.place]
