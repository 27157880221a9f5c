"""A run counts once on a site, however often it was published, and lists say that it was interrupted."""

from pathlib import Path
from typing import Any

import pytest

from loadcurve.analysis.publication import Publication, published_run
from loadcurve.cli.publish import check_command
from loadcurve.errors import BadInput
from loadcurve.files import write_whole
from loadcurve.report.site.build import build_site
from loadcurve.result.checksum import sealed
from loadcurve.result.publication import PublishedRun, publish_run
from loadcurve.result.site_index import read_index
from support import synthetic_run as synthetic


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> PublishedRun:
    """The synthetic run as it is published, complete."""
    synthetic.write_run(folder := tmp_path_factory.mktemp("published") / "run")
    return republished(published_run(folder, Publication()), complete=True, run="1" * 64)


def republished(run: PublishedRun, /, **changed: Any) -> PublishedRun:
    """A run with other facts."""
    return PublishedRun.model_validate(run.model_dump() | changed)


def named(run: PublishedRun, machine: str) -> PublishedRun:
    """The same run, published with another name of its machine."""
    return republished(run, machine=run.machine.model_dump() | {"name": machine, "slug": machine})


def text_of(site: Path, page: str) -> str:
    return (site / page).read_text()


# The digest of the interrupted state comes after and before that of the whole run: neither order decides.
@pytest.mark.parametrize("digit", ["0", "2"])
def test_the_whole_run_is_listed_in_place_of_its_interrupted_state(
    digit: str, whole: PublishedRun, tmp_path: Path
):
    interrupted = republished(whole, complete=False, run=digit * 64)
    for run in (interrupted, whole):
        publish_run(tmp_path, run)
    assert build_site(tmp_path).runs == 1
    study = text_of(tmp_path, f"{whole.subject}/index.html")
    assert '<p class="summary">1 run.' in study
    assert Path(interrupted.place).stem not in study
    assert Path(whole.place).stem in study
    later = Path(whole.place).with_suffix(".html").as_posix()
    page = text_of(tmp_path, Path(interrupted.place).with_suffix(".html").as_posix())
    assert f'<a href="../../../{later}">its later state</a>' in page
    check_command(tmp_path)


def test_of_two_interrupted_states_that_of_more_trials_is_listed(whole: PublishedRun, tmp_path: Path):
    fewer = republished(
        whole, complete=False, run="2" * 64, points=[one.model_dump() for one in whole.points[:-1]]
    )
    for run in (fewer, republished(whole, complete=False)):
        publish_run(tmp_path, run)
    build_site(tmp_path)
    listed = [one.run for one in read_index(tmp_path).values() if one.superseded_by is None]
    assert listed == [whole.run]


def test_runs_of_another_seed_or_machine_that_started_at_once_are_runs_of_their_own(
    whole: PublishedRun, tmp_path: Path
):
    other = whole.machine.model_dump() | {"fingerprint": "e" * 64}
    starts: list[dict[str, Any]] = [{}, {"seed": (whole.seed or 0) + 1}, {"machine": other}]
    for number, facts in enumerate(starts):
        publish_run(tmp_path, republished(whole, run=f"{number:x}" * 64, complete=not facts, **facts))
    assert build_site(tmp_path).runs == 3


def test_lists_say_that_a_run_was_interrupted(whole: PublishedRun, tmp_path: Path):
    publish_run(tmp_path, republished(whole, complete=False))
    build_site(tmp_path)
    server, machine = whole.servers[0].slug, whole.machine.slug
    of_study = f"{whole.subject}/index.html"
    for page in ("index.html", of_study, f"servers/{server}.html", f"machines/{machine}.html"):
        assert "UTC, interrupted" in text_of(tmp_path, page), page


def test_a_run_that_is_there_is_not_added_under_another_name_of_its_machine(
    whole: PublishedRun, tmp_path: Path
):
    publish_run(tmp_path, whole)
    with pytest.raises(BadInput, match="is the same run already") as refused:
        publish_run(tmp_path, named(whole, "web-1"))
    assert whole.place in str(refused.value)
    assert whole.machine.name in str(refused.value)
    assert build_site(tmp_path).runs == 1


def test_the_check_finds_a_run_that_is_there_under_two_names(whole: PublishedRun, tmp_path: Path):
    publish_run(tmp_path, whole)
    again = named(whole, "web-1")
    # As somebody else adds it by a pull request.
    write_whole(tmp_path / again.place, sealed(again.model_dump_json(indent=1)) + b"\n")
    with pytest.raises(BadInput, match=r"is the same run as .*, under another name: remove one of the two"):
        check_command(tmp_path)
