"""Programs and URLs that only a study knows have pages of their own, and a rerun stays in its study."""

from pathlib import Path
from typing import Any

import pytest

from loadcurve.analysis.publication import Publication, published_run
from loadcurve.cli import rerun
from loadcurve.report.site.build import build_site
from loadcurve.result.checksum import sealed
from loadcurve.result.publication import PublishedRun, publish_run, read_published_file
from loadcurve.result.records import OWN_PROGRAM, RUNNING_SERVER
from loadcurve.runs.study import RunOptions
from loadcurve.server.catalog import load_catalog
from support import synthetic_run as synthetic


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> PublishedRun:
    """The synthetic run as it is published."""
    synthetic.write_run(folder := tmp_path_factory.mktemp("published") / "run")
    return published_run(folder, Publication())


def of_study(
    run: PublishedRun, subject: str, entry: str, /, title: str = "as the catalogue says"
) -> PublishedRun:
    """The run as that of another study, with its first server as one of a catalogue's entry."""
    first, *others = (one.model_dump() for one in run.servers)
    first |= {"slug": entry, "title": title, "settings": first["settings"] | {"catalog_entry": entry}}
    facts = {"subject": subject, "title": f"My {subject}", "servers": [first, *others]}
    return PublishedRun.model_validate(run.model_dump() | facts).with_own_pages()


def first_slug(run: PublishedRun) -> str:
    return run.servers[0].slug


def test_those_that_the_study_names_are_the_catalogues_entries_without_a_program():
    entries = {one.name for one in load_catalog() if one.description.from_study is not None}
    assert entries == {OWN_PROGRAM, RUNNING_SERVER}


@pytest.mark.parametrize("entry", [OWN_PROGRAM, RUNNING_SERVER])
def test_programs_of_two_studies_have_a_page_each_with_name_and_study_as_their_title(
    entry: str, published: PublishedRun, tmp_path: Path
):
    for digit, subject in enumerate(("alpha", "beta")):
        run = published.model_copy(update={"run": f"{digit}" * 64})
        publish_run(tmp_path, of_study(run, subject, entry))
    build_site(tmp_path)
    name = published.servers[0].name
    for subject in ("alpha", "beta"):
        page = (tmp_path / "servers" / f"{subject}.{name}.html").read_text()
        assert f"<h1>{name} (My {subject})</h1>" in page
        assert "1 result" in page
    assert not (tmp_path / "servers" / f"{entry}.html").exists()


def test_what_was_published_on_one_page_before_has_pages_of_its_own(published: PublishedRun, tmp_path: Path):
    entry = published.servers[0].model_dump() | {
        "slug": OWN_PROGRAM,
        "settings": {"catalog_entry": OWN_PROGRAM},
    }
    before = published.model_dump() | {
        "servers": [entry, *(one.model_dump() for one in published.servers[1:])]
    }
    path = tmp_path / "published.json"
    path.write_bytes(sealed(PublishedRun.model_validate(before).model_dump_json()))
    assert first_slug(read_published_file(path)) == f"{published.subject}.{published.servers[0].name}"


def test_single_loads_are_told_apart_by_their_urls(published: PublishedRun):
    ports = [
        of_study(published, "load", RUNNING_SERVER, title=f"http://127.0.0.1:{port}") for port in (8080, 8081)
    ]
    assert [first_slug(run) for run in ports] == ["load.http-127-0-0-1-8080", "load.http-127-0-0-1-8081"]
    # Nobody can say whether two addresses that were left out are one.
    hidden = of_study(published, "load", RUNNING_SERVER, title="http://{address}")
    assert first_slug(hidden) == f"load.http-address-{published.run[:8]}"


def test_long_names_have_pages_of_their_own_too(published: PublishedRun):
    slugs = {first_slug(of_study(published, "s" * 60 + end, OWN_PROGRAM)) for end in "abcd"}
    assert len(slugs) == 4
    assert {len(one) for one in slugs} == {64}


def test_the_rerun_of_a_published_file_is_of_its_study(
    published: PublishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    publish_run(tmp_path, published)
    assert named_by_rerun(tmp_path / published.place, monkeypatch) == published.subject


def test_the_rerun_of_a_run_folder_is_of_its_study_and_not_named_by_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    record = synthetic.run_record()
    synthetic.write_run(tmp_path / "fetched-5f", record)
    assert named_by_rerun(tmp_path / "fetched-5f", monkeypatch) == record.study_name


def named_by_rerun(source: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What a rerun has its study called; nothing is run."""
    found: list[RunOptions] = []

    def measured(_study: Path, options: RunOptions, _asked: Any) -> None:
        found.append(options)

    monkeypatch.setattr(rerun, "_measured", measured)
    monkeypatch.setattr(rerun, "_provide", lambda *_: None)
    rerun.rerun_command(str(source), rerun.RerunOptions(agrees=True))
    return found[0].study_name
