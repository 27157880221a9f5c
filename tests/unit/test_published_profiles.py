"""Published studies side by side on one machine, and the folders that the site keeps for its own pages."""

from pathlib import Path
from typing import Any

import pytest

from loadcurve.analysis.publication import Publication, published_run
from loadcurve.report.site.build import build_site
from loadcurve.report.site.profiles import PROFILES_MAX, Place, Profiles, profiles_of
from loadcurve.result.publication import PublishedRun, publish_run, subject_of
from loadcurve.result.records import OWN_PROGRAM, PointRecord
from loadcurve.result.several import SuiteRecord, write_suite
from loadcurve.result.site_index import IndexedRun, read_index
from support import synthetic_run as synthetic
from support.command import Command


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> PublishedRun:
    """The synthetic run as it is published."""
    synthetic.write_run(folder := tmp_path_factory.mktemp("published") / "run")
    return published_run(folder, Publication())


def republished(run: PublishedRun, number: int, /, **changed: Any) -> PublishedRun:
    """The same run of another study, some days later."""
    facts = {"run": f"{number:064x}", "subject": f"study-{number}", "title": f"Study {number}"}
    facts["started_at"] = f"2026-03-{10 + number}T09:00:00Z"
    return PublishedRun.model_validate(run.model_dump() | facts | changed)


def indexed(site: Path, *runs: PublishedRun) -> list[IndexedRun]:
    """The runs as the index of a site has them, the oldest first."""
    for run in runs:
        publish_run(site, run)
    build_site(site)
    return sorted(read_index(site).values(), key=lambda run: run.started_at)


def profiled(site: Path, *runs: PublishedRun) -> Profiles:
    found = profiles_of(indexed(site, *runs))
    assert found is not None
    return found


def place(profiles: Profiles, server: str, column: int) -> Place:
    (row,) = [row for row in profiles.rows if row.name == server]
    found = row.places[column]
    assert found is not None
    return found


def test_two_studies_of_one_machine_have_a_column_each_and_servers_are_in_the_order_of_their_names(
    published: PublishedRun, tmp_path: Path
):
    found = profiled(tmp_path, republished(published, 1), republished(published, 2))
    assert [column.run.title for column in found.columns] == ["Study 1", "Study 2"]
    assert [row.name for row in found.rows] == sorted(one.name for one in published.servers)
    page = (tmp_path / "index.html").read_text()
    assert "Profiles side by side" in page
    assert "Study 2: throughput, /s" in page


def named_web(run: PublishedRun, number: int, entry: str, title: str) -> PublishedRun:
    """A study in which the first server is called web, and is this one of the catalogue."""
    first, *others = run.model_dump()["servers"]
    settings = first["settings"] | {"catalog_entry": entry}
    first |= {"name": "web", "slug": entry, "title": title, "settings": settings}
    texts = run.model_dump_json().replace('"server":"nginx"', '"server":"web"')
    changed = PublishedRun.model_validate_json(texts.replace('"nginx"', '"web"'))
    return republished(changed, number, servers=[first, *others])


def test_servers_of_one_name_that_are_different_ones_have_a_row_each(published: PublishedRun, tmp_path: Path):
    runs = [
        named_web(published, 1, "nginx", "nginx"),
        named_web(published, 2, "caddy", "Caddy"),
        *(named_web(published, number, OWN_PROGRAM, "mine").with_own_pages() for number in (3, 4)),
    ]
    found = profiled(tmp_path, *runs)
    of_name = [row for row in found.rows if row.name == "web"]
    assert [(row.slug, row.which, [one is not None for one in row.places]) for row in of_name] == [
        ("caddy", "Caddy", [False, True, False, False]),
        ("nginx", "nginx", [True, False, False, False]),
        ("study-3.web", "(Study 3)", [False, False, True, False]),
        ("study-4.web", "(Study 4)", [False, False, False, True]),
    ]
    [apache] = [row for row in found.rows if row.name == "apache"]
    assert (apache.which, None in apache.places) == ("", False)


def test_a_place_is_that_of_the_studys_own_ranking(published: PublishedRun, tmp_path: Path):
    found = profiled(tmp_path, republished(published, 1), republished(published, 2))
    (ranking,) = [one for one in published.rankings if one.measure == "throughput_rps"]
    for rank in ranking.ranks:
        words = f"{rank.best}" if rank.best == rank.worst else f"{rank.best} to {rank.worst}"
        assert place(found, rank.server, 0).words == words
        assert place(found, rank.server, 0).sorted_by == f"{rank.best}.{rank.worst}"
    reasons = {one.server: one.reason for one in published.unranked}
    assert {
        row.name: one.unranked for row in found.rows if (one := row.places[0]) and one.unranked
    } == reasons


def test_a_cell_has_its_figure_in_the_unit_of_its_column_to_be_exported(
    published: PublishedRun, tmp_path: Path
):
    rated = republished(published, 1, ranked_by="latency_p99_s")
    runs = indexed(tmp_path, rated, republished(published, 2))
    (server,) = [one for one in runs[0].servers if one.name == "nginx"]
    figure = server.figures["latency_p99_s"]
    found = profiles_of(runs)
    assert found is not None
    one = place(found, "nginx", 0)
    assert float(one.value) == pytest.approx(1e3 * figure.value, rel=1e-5)
    page = (tmp_path / "index.html").read_text()
    assert f'<td data-sort="{one.sorted_by}" data-value="{one.value}"' in page
    assert f'(<span class="margin">{one.interval}</span>)' in page


def test_a_study_that_latency_answers_has_the_cost_of_a_request_beside_it(
    published: PublishedRun, tmp_path: Path
):
    rated = republished(published, 1, ranked_by="latency_p99_s")
    found = profiled(tmp_path, rated, republished(published, 2))
    assert [column.measure for column in found.columns] == [
        "latency_p99_s",
        "server_cpu_per_request_s",
        "throughput_rps",
    ]


@pytest.mark.parametrize(("measure", "title"), [("latency_p50_s", "p50, ms"), ("latency_p90_s", "p90, ms")])
def test_the_column_of_a_study_has_the_measure_that_answers_it_whichever_that_is(
    published: PublishedRun, tmp_path: Path, measure: str, title: str
):
    rated = republished(published, 1, ranked_by=measure)
    found = profiled(tmp_path, rated, republished(published, 2))
    assert found.columns[0].heading == title
    # At the point of the highest throughput.
    fastest = max(
        (one for one in published.points if one.server == "nginx"),
        key=lambda one: one.figures["throughput_rps"].value or 0.0,
    )
    figure = fastest.figures[measure]
    assert figure.value is not None
    one = place(found, "nginx", 0)
    assert float(one.value) == pytest.approx(1e3 * figure.value, rel=1e-5)
    ranked = {ranking.measure: ranking.ranks for ranking in published.rankings}
    assert bool(one.words) == (measure in ranked)


def test_only_the_newest_run_of_a_study_counts(published: PublishedRun, tmp_path: Path):
    newer = republished(published, 3, subject="study-1", title="Study 1 again")
    found = profiled(tmp_path, republished(published, 1), republished(published, 2), newer)
    assert [column.run.title for column in found.columns] == ["Study 2", "Study 1 again"]


def test_servers_that_were_asked_for_different_things_have_no_place_in_one_ranking(
    published: PublishedRun, tmp_path: Path
):
    works = [{"options": {}, "servers": [one.name]} for one in published.servers]
    several = republished(published, 1, works=works, rankings=[])
    found = profiled(tmp_path, several, republished(published, 2))
    assert not any(row.places[0] and row.places[0].words for row in found.rows)


def test_one_study_and_studies_without_a_common_server_have_no_table(published: PublishedRun, tmp_path: Path):
    assert profiles_of(indexed(tmp_path / "one", republished(published, 1))) is None
    runs = indexed(tmp_path / "two", republished(published, 1), republished(published, 2))
    others = [one.model_copy(update={"name": f"other-{one.name}"}) for one in runs[1].servers]
    assert profiles_of([runs[0], runs[1].model_copy(update={"servers": others})]) is None
    assert "Profiles side by side" not in (tmp_path / "one" / "index.html").read_text()


def test_machines_of_other_hardware_are_not_in_one_table(published: PublishedRun, tmp_path: Path):
    runs = indexed(tmp_path, republished(published, 1), republished(published, 2))
    other = runs[0].machine.model_copy(update={"fingerprint": "b" * 64})
    assert profiles_of([runs[0].model_copy(update={"machine": other}), runs[1]]) is None


def test_the_table_is_no_wider_than_a_page_can_be(published: PublishedRun, tmp_path: Path):
    (run,) = indexed(tmp_path, republished(published, 1))
    many = [run.model_copy(update={"subject": f"study-{number}"}) for number in range(PROFILES_MAX + 5)]
    found = profiles_of(many)
    assert found is not None
    assert len(found.columns) == PROFILES_MAX


@pytest.mark.parametrize(
    ("study", "subject"),
    [("servers", "servers-study"), ("Machines", "machines-study"), ("web servers", "web-servers")],
)
def test_a_study_never_has_its_results_in_a_folder_of_the_sites_own_pages(study: str, subject: str):
    assert subject_of(study) == subject


def test_what_was_published_under_such_a_name_keeps_its_place(published: PublishedRun, tmp_path: Path):
    run = republished(published, 1, subject="servers")
    publish_run(tmp_path, run)
    build_site(tmp_path)
    assert run.place.startswith("servers/results/")
    assert (tmp_path / run.place.replace(".json", ".html")).is_file()
    assert (tmp_path / "servers" / "index.html").is_file()
    assert (tmp_path / "servers" / f"{run.servers[0].slug}.html").is_file()


def test_the_runs_of_a_suite_are_published_at_once_and_one_without_a_valid_point_is_left_out(tmp_path: Path):
    record = synthetic.run_record()
    lines = list(synthetic.trial_records(record))
    spoiled = [synthetic.spoiled(line) if isinstance(line, PointRecord) else line for line in lines]
    for name, records in {"good": lines, "spoiled": spoiled}.items():
        synthetic.write_run(tmp_path / "suite" / name, record, records)
    write_suite(
        tmp_path / "suite", SuiteRecord(format="loadcurve-suite/1", name="mine", options=[], seed=None)
    )
    command = Command(tmp_path)
    done = command.run("publish", "suite", "--to", "site")
    assert done.returncode == 0, done.stderr
    assert "left out: suite/spoiled has no valid point" in done.stderr
    assert len(done.stdout.split()) == 2
    alone = command.run("publish", "suite/spoiled", "--to", "site")
    assert alone.returncode == 2
    assert command.run("publish", "--check", "--to", "site").returncode == 0


def test_a_suite_of_which_no_run_has_begun_is_not_taken_for_published(tmp_path: Path):
    for name in ("suite", "site"):
        (tmp_path / name).mkdir()
    write_suite(
        tmp_path / "suite", SuiteRecord(format="loadcurve-suite/1", name="mine", options=[], seed=None)
    )
    refused = Command(tmp_path).run("publish", "suite", "--to", "site")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "suite is the folder of a suite, and no run of it has begun" in refused.stderr
    assert not list((tmp_path / "site").iterdir())
