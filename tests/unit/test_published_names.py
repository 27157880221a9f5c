"""Published results of machines and people who are called as something in the file is."""

import getpass
import socket
from pathlib import Path

import pytest

from loadcurve.analysis.publication import Publication, published_run
from loadcurve.cli.publish import check_command, publish_command
from loadcurve.errors import BadInput
from loadcurve.result.checksum import digest
from loadcurve.result.publication import PublishedRun, files_of, read_published
from loadcurve.result.run_files import STUDY_FILE
from support import synthetic_run as synthetic


def publish(site: Path, publication: Publication) -> PublishedRun:
    """A run as the command publishes it, which the check accepts."""
    synthetic.write_run(run := site.parent / "run")
    publish_command([run], site, publication)
    check_command(site)
    [file] = files_of(site)
    return read_published(site, file.place)


@pytest.mark.parametrize("name", ["valid", "throughput", "geometric", "loadcurve", "http", "connections"])
def test_who_is_called_as_a_word_of_the_format_publishes_what_others_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    synthetic.write_run(tmp_path / "run")
    others = published_run(tmp_path / "run", Publication())
    monkeypatch.setattr(getpass, "getuser", lambda: name)
    found = published_run(tmp_path / "run", Publication())
    texts = {"study", "load", "options", "findings", "unranked", "title", "question"}
    assert found.model_dump(exclude=texts) == others.model_dump(exclude=texts)


def test_a_person_called_as_a_server_of_the_catalogue_publishes_it_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(getpass, "getuser", lambda: "nginx")
    found = publish(tmp_path / "site", Publication())
    assert {"nginx", "apache", "tiny"} <= {one.name for one in found.servers}
    assert {one.slug for one in found.servers if one.name == "nginx"} == {"nginx"}


def test_a_machine_is_called_what_it_is_to_be_called_even_if_that_is_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(socket, "gethostname", lambda: "falcon7.example")
    found = publish(tmp_path / "site", Publication(machine="falcon7"))
    assert (found.machine.name, found.machine.slug) == ("falcon7", "falcon7")
    by_address = published_run(tmp_path / "run", Publication(machine="falcon7 at 10.20.30.40"))
    assert (by_address.machine.name, by_address.machine.slug) == (
        "falcon7 at {address}",
        "falcon7-at-address",
    )


def test_a_study_or_a_server_named_after_a_machine_loses_that_name_and_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(socket, "gethostname", lambda: "apache")
    monkeypatch.setattr(getpass, "getuser", lambda: synthetic.run_record().study_name)
    synthetic.write_run(tmp_path / "run")
    found = published_run(tmp_path / "run", Publication())
    assert found.subject == "name"
    assert "{name}" in {one.server for one in found.points}
    assert "apache" not in found.model_dump_json(exclude={"study"})


def test_a_run_that_has_no_place_in_the_format_is_refused_in_words(tmp_path: Path):
    record = synthetic.run_record()
    study = {**record.study, "title": "x" * 2001}
    synthetic.write_run(tmp_path / "run", record.model_copy(update={"study": study}))
    with pytest.raises(BadInput, match="run cannot be published: title: String should have at most 2000"):
        published_run(tmp_path / "run", Publication())


def test_a_study_that_was_changed_after_its_run_is_not_published_as_that_of_the_run(tmp_path: Path):
    synthetic.write_run(tmp_path / "run")
    study = tmp_path / "run" / STUDY_FILE
    record = synthetic.run_record().model_copy(update={"study_sha256": digest(study.read_bytes())})
    synthetic.write_run(tmp_path / "run", record)
    kept = published_run(tmp_path / "run", Publication())
    study.write_text(f"{study.read_text()}\n# changed\n")
    assert kept.study is not None
    assert published_run(tmp_path / "run", Publication()).study is None
