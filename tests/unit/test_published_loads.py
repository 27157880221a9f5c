"""Servers with loads of their own on a site: their protocol, their options, and what rankings compare."""

from pathlib import Path

import pytest

from loadcurve.analysis.publication import Publication, published_run, rankings_of
from loadcurve.report.site.build import build_site
from loadcurve.report.site.lists import front_values, study_values
from loadcurve.report.site.result_page import result_values
from loadcurve.report.site.server_page import server_values
from loadcurve.result.publication import PublishedRun, PublishedWork, publish_run
from loadcurve.result.site_index import IndexedRun, SiteIndex, read_index
from support import synthetic_run as synthetic

CAUTION = (
    "apache has a load other than the study's: ranks and ratios to other servers compare the loads, too, "
    "not only the servers."
)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> PublishedRun:
    """A run in which apache, by TLS, has another load than the others."""
    folder = synthetic.write_run(tmp_path_factory.mktemp("runs") / "run")
    run = published_run(folder, Publication())
    servers = [
        one.model_copy(update={"slug": "nginx", "settings": {"settings": {"tls": True}}})
        if one.name == "apache"
        else one
        for one in run.servers
    ]
    own = {"apache": {"http": "2", "calls": 1}}
    load = run.load | {"http": "1.1", "calls": None, "servers": own}
    return run.model_copy(update={"servers": servers, "load": load})


@pytest.fixture(scope="module")
def indexed(published: PublishedRun, tmp_path_factory: pytest.TempPathFactory) -> IndexedRun:
    """The same in the index of a site."""
    publish_run(site := tmp_path_factory.mktemp("site"), published)
    build_site(site)
    [run] = read_index(site).values()
    return run


def test_the_protocol_of_a_server_is_that_of_its_own_load(indexed):
    spoken = {one.name: one.protocol for one in indexed.servers}
    assert (spoken["apache"], spoken["nginx"]) == ("HTTP/2 over TLS", "HTTP/1.1")


def test_a_run_is_found_by_each_protocol_that_its_loads_spoke(indexed):
    values = front_values(SiteIndex(runs=[indexed]), {})
    [protocols] = [one for one in values["filters"] if one.name == "protocol"]
    assert protocols.values == ("HTTP/1.1", "HTTP/2 over TLS")
    assert values["protocol"](indexed) == values["studies"][0]["protocol"] == "1 2"


def test_options_in_which_loads_of_one_run_differ_are_side_by_side(indexed):
    [found] = server_values("nginx", [indexed])["settings"]
    assert found.columns == ("nginx", "apache")
    options = {name: values for name, values in found.differing if name.startswith("load: ")}
    assert options == {"load: http": ("1.1", "2"), "load: calls": ("—", "1")}


def test_the_caution_of_the_report_is_above_rankings_that_compare_loads_too(
    published: PublishedRun, indexed: IndexedRun, tmp_path: Path
):
    values = result_values(published, "0" * 64)
    assert [one.caution for one in values["works"]] == [CAUTION]
    assert values["settings"]["apache"].endswith("; load: http: 2; load: calls: 1")
    [[of_study]] = study_values(indexed.subject, [indexed], {})["conditions"]
    assert of_study.caution == CAUTION
    publish_run(tmp_path, published)
    build_site(tmp_path)
    for page in (indexed.page, f"{indexed.subject}/index.html"):
        text = (tmp_path / page).read_text().replace("&#39;", "'")
        assert text.index(CAUTION) < text.index('<ol class="places">')


def test_nothing_is_said_of_loads_where_all_servers_had_the_same(published):
    alike = published.model_copy(update={"load": published.load | {"servers": {}}})
    assert [one.caution for one in result_values(alike, "0" * 64)["works"]] == [None]


def test_a_server_that_alone_was_asked_for_something_is_in_no_ranking_with_that_as_its_reason(
    published: PublishedRun, tmp_path: Path
):
    works = [
        PublishedWork(options={"requests": ["/1k.txt"]}, servers=["nginx", "tiny"]),
        PublishedWork(options={"requests": ["/20k.txt"]}, servers=["apache"]),
    ]
    unranked = {one.server for one in published.unranked}
    rankings = list(rankings_of(published.points, published.measures, works, unranked))
    run = published.model_copy(update={"works": works, "rankings": rankings})
    assert {rank.server for one in run.rankings for rank in one.ranks} == {"nginx", "tiny"}
    publish_run(tmp_path, run)
    build_site(tmp_path)
    page = (tmp_path / run.place).with_suffix(".html").read_text()
    assert "<strong>apache</strong>: no other server was asked for the same, requests = /20k.txt" in page
    assert result_values(published, "0" * 64)["alone"] == {}
