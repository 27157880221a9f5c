"""Ways on from the pages of a site: what they offer can be done, and what they link to is there."""

from pathlib import Path

import pytest

from loadcurve.analysis.publication import Publication, published_run
from loadcurve.report.site.build import build_site
from loadcurve.report.site.lists import front_values
from loadcurve.report.site.server_page import server_values
from loadcurve.result.checksum import digest
from loadcurve.result.publication import PublishedRun, publish_run
from loadcurve.result.site_index import SiteIndex, read_index
from support import synthetic_run as synthetic


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> PublishedRun:
    """The synthetic run as it is published."""
    return published_run(synthetic.write_run(tmp_path_factory.mktemp("published") / "run"), Publication())


@pytest.mark.parametrize("study", ['title = "a study"', None])
def test_a_page_offers_to_measure_a_row_again_where_its_study_is_published_and_the_reason_elsewhere(
    published: PublishedRun, tmp_path: Path, study: str | None
):
    run = published.model_copy(update={"study": study})
    publish_run(tmp_path, run)
    build_site(tmp_path)
    page = (tmp_path / run.place.replace(".json", ".html")).read_text()
    assert ("Measure again: <code>loadcurve rerun" in page) == (study is not None)
    assert ("its study is not published" in page) == (study is None)


def republished(run: PublishedRun, subject: str) -> PublishedRun:
    """The same run of another study, on another machine and with other servers."""
    machine = run.machine.model_copy(update={"slug": f"machine-{subject}"})
    servers = [one.model_copy(update={"slug": f"{one.slug}-{subject}"}) for one in run.servers]
    return run.model_copy(
        update={"subject": subject, "run": digest(subject.encode()), "machine": machine, "servers": servers}
    )


def pages_in(site: Path) -> set[str]:
    return {path.relative_to(site).as_posix() for path in site.rglob("*.html")}


def test_pages_of_a_removed_result_are_removed_and_those_of_others_stay(
    published: PublishedRun, tmp_path: Path
):
    kept, removed = (republished(published, subject) for subject in ("kept", "removed"))
    publish_run(tmp_path, kept)
    build_site(tmp_path)
    of_one = pages_in(tmp_path)
    publish_run(tmp_path, removed)
    build_site(tmp_path)
    # Of the other one: its page, those of its study and its machine, and one of each server.
    assert len(pages_in(tmp_path)) == len(of_one) + 3 + len(removed.servers)
    (tmp_path / removed.place).unlink()
    assert build_site(tmp_path).removed == 3 + len(removed.servers)
    assert pages_in(tmp_path) == of_one
    assert build_site(tmp_path).removed == 0
    (tmp_path / kept.place).unlink()
    build_site(tmp_path)
    assert pages_in(tmp_path) == {"index.html"}


def test_no_file_of_the_user_is_removed_nor_a_page_of_another_site(published: PublishedRun, tmp_path: Path):
    run = republished(published, "gone")
    for site in (tmp_path, tmp_path / "another", tmp_path / "linked" / "another"):
        publish_run(site, run)
        build_site(site)
    page = tmp_path / run.place.replace(".json", ".html")
    # A copy that the user made, notes of the user, and another site that a link leads to.
    page.with_name("copy.html").write_bytes(page.read_bytes())
    (tmp_path / "servers" / "notes.html").write_text("<p>made of notes")
    (tmp_path / "gone-2").symlink_to(tmp_path / "linked" / "another")
    before = pages_in(tmp_path)
    of_run = {run.place.replace(".json", ".html"), "gone/index.html", f"machines/{run.machine.slug}.html"}
    of_run |= {f"servers/{one.slug}.html" for one in run.servers}
    (tmp_path / run.place).unlink()
    build_site(tmp_path)
    assert before - pages_in(tmp_path) == of_run


def test_the_front_page_counts_the_results_of_a_server_as_its_own_page_does(
    published: PublishedRun, tmp_path: Path
):
    points = [one for one in published.points if one.server != "nginx"]
    run = published.model_copy(update={"points": points, "rankings": []})
    publish_run(tmp_path, run)
    build_site(tmp_path)
    index = SiteIndex(runs=list(read_index(tmp_path).values()))
    (server,) = [one for one in index.runs[0].servers if one.name == "nginx"]
    assert server.point is None
    said = {one["slug"]: one["results"] for one in front_values(index, {})["servers"]}
    assert said == {slug: server_values(slug, index.runs)["count"] for slug in said}
    assert said["nginx"] == "1 result"
