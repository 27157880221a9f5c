"""Published files that somebody has changed and sealed again, so that they contradict themselves."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadcurve.analysis.publication import Publication, published_run
from loadcurve.cli.publish import check_command
from loadcurve.errors import BadInput
from loadcurve.report.site.build import build_site
from loadcurve.result import publication
from loadcurve.result.checksum import digest, sealed
from loadcurve.result.publication import RESULTS_FOLDER, files_of, publish_run, read_published
from support import synthetic_run as synthetic


@pytest.fixture(scope="module")
def published_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with the synthetic run, whose study has a digest."""
    site = tmp_path_factory.mktemp("published") / "site"
    synthetic.write_run(run := site.parent / "run")
    found = published_run(run, Publication())
    assert found.study is not None
    publish_run(site, found.model_copy(update={"study_sha256": digest(found.study.encode())}))
    check_command(site)
    return site


def _figure(run: dict[str, Any]) -> dict[str, Any]:
    figure: dict[str, Any] = run["points"][0]["figures"]["throughput_rps"]
    return figure


def _no_number(run: dict[str, Any]) -> None:
    _figure(run)["values"][0] = math.nan


def _infinite(run: dict[str, Any]) -> None:
    _figure(run)["high"] = math.inf


def _below_zero(run: dict[str, Any]) -> None:
    _figure(run)["values"][0] = -1.0


def _twice(run: dict[str, Any]) -> None:
    run["points"].append(run["points"][0])


def _one_block(run: dict[str, Any]) -> None:
    run["points"][0]["blocks"] = [0, 0, 0]


def _nowhere(run: dict[str, Any]) -> None:
    run["points"][0]["point"] = {"connections": math.nan}


def _other_unit(run: dict[str, Any]) -> None:
    run["measures"][0]["unit"] = "s"


def _other_title(run: dict[str, Any]) -> None:
    run["measures"][0]["title"] = "p50"


def _other_page(run: dict[str, Any]) -> None:
    run["servers"][1]["slug"] = "nginx"


def _no_entry(run: dict[str, Any]) -> None:
    run["servers"][0]["settings"]["catalog_entry"] = ["caddy"]


def _other_study(run: dict[str, Any]) -> None:
    run["study"] += "\n# and another line"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_no_number, "points.0.figures.throughput_rps: a figure is infinite, or no number"),
        (_infinite, "points.0.figures.throughput_rps: a figure is infinite, or no number"),
        (_below_zero, "a trial has a figure below 0, which no measure has"),
        (_twice, "a server has figures twice at one point"),
        (_one_block, "points.0: nginx has two trials of one block at a point"),
        (_nowhere, "points.0: nginx was measured at a point that is no number"),
        (_other_unit, "throughput_rps is in s, better higher, and not as its figures are"),
        (_other_title, "throughput_rps has the title of another measure, p50"),
        (_other_page, "apache would be on the page of nginx, and it is apache"),
        (_no_entry, "nginx would be on the page of nginx, and it is caddy"),
        (_other_study, "its study does not have the digest of the study that was run"),
    ],
)
def test_a_sealed_file_that_contradicts_itself_is_refused_in_words(
    change: Callable[[dict[str, Any]], None], problem: str, published_site: Path, tmp_path: Path
):
    shutil.copytree(published_site, site := tmp_path / "site")
    [file] = files_of(site)
    run = json.loads((site / file.place).read_bytes())
    del run["sha256"]
    change(run)
    (site / file.place).write_bytes(sealed(json.dumps(run, indent=1)) + b"\n")
    with pytest.raises(BadInput) as refused:
        check_command(site)
    assert problem in str(refused.value)


def test_a_file_whose_load_has_no_model_has_its_page(published_site: Path, tmp_path: Path):
    [file] = files_of(published_site)
    run = read_published(published_site, file.place)
    publish_run(tmp_path, run.model_copy(update={"load": {"servers": {"nginx": 5}, "http": 7}}))
    build_site(tmp_path)
    assert "At little load" in (tmp_path / file.place).with_suffix(".html").read_text()


@pytest.mark.parametrize("bound", ["PUBLISHED_BYTES_MAX", "PARTS_MAX"])
def test_a_run_that_would_be_refused_for_its_size_is_not_added(
    bound: str, published_site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    [file] = files_of(published_site)
    run = read_published(published_site, file.place)
    monkeypatch.setattr(publication, bound, 100)
    with pytest.raises(BadInput, match=r"is not written: it would have .* Publish runs of fewer points"):
        publish_run(tmp_path / "site", run)
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_link_in_the_place_of_a_folder_of_results_is_refused(
    depth: int, published_site: Path, tmp_path: Path
):
    shutil.copytree(published_site, site := tmp_path / "site")
    [file] = files_of(site)
    folder = site.joinpath(*Path(file.place).parts[:depth])
    folder.rename(elsewhere := tmp_path / "elsewhere")
    folder.symlink_to(elsewhere)
    with pytest.raises(BadInput, match=f"{folder} is a link"):
        check_command(site)


def test_a_link_beside_the_results_is_no_part_of_a_site(published_site: Path, tmp_path: Path):
    shutil.copytree(published_site, site := tmp_path / "site")
    (site / "newest").symlink_to(site / RESULTS_FOLDER)
    (tmp_path / "notes").mkdir()
    (site / "notes").symlink_to(tmp_path / "notes")
    check_command(site)
