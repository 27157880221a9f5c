"""Ways on from the pages of a site: what they offer can be done, and what they link to is there."""

from pathlib import Path

import pytest

from loadcurve.analysis.publication import Publication, published_run
from loadcurve.report.site.build import build_site
from loadcurve.result.publication import PublishedRun, publish_run
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
