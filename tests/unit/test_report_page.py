"""What all pages share: the script of the figures, and specifications that Vega-Lite understands."""

import json
from pathlib import Path

import altair
import pytest
from altair.vegalite.v6.schema.core import load_schema
from jsonschema.validators import validator_for

from loadcurve.analysis.analysis import analyse
from loadcurve.report import page
from loadcurve.report.formats.figures import pictures
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.result.folder import read_run
from support import synthetic_run as synthetic


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    page._vega_bundle.cache_clear()
    return tmp_path / "loadcurve" / "figures"


def test_the_script_of_the_figures_is_made_once_and_then_taken_from_the_cache(cache: Path):
    [made, _] = page.figure_scripts()
    assert "vegaEmbed" in made
    [kept] = cache.iterdir()
    assert kept.read_text(encoding="utf-8") == made
    kept.write_text("kept", encoding="utf-8")
    page._vega_bundle.cache_clear()
    assert page.figure_scripts()[0] == "kept"
    page._vega_bundle.cache_clear()


def test_without_a_cache_that_can_be_written_the_script_is_made_again(cache: Path):
    cache.parent.write_text("a file, not a folder")
    assert "vegaEmbed" in page.figure_scripts()[0]


def test_no_channel_of_a_figure_is_searched_for_among_all_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Altair does so for what is a text or a dictionary; it took half of the time of a page."""

    def search(of: type[altair.SchemaBase], *_: object, **__: object) -> None:
        raise AssertionError(f"a channel of the class {of.__name__} was given as a text or a dictionary")

    run = read_run(synthetic.write_run(tmp_path))
    monkeypatch.setattr(altair.SchemaBase, "from_dict", classmethod(search))
    content = Report(run, analyse(run))
    assert len([*pictures(content), *everything(content)["trials"].panels.values()]) > 10
    assert content.sections.not_computed == []


def test_every_figure_is_a_specification_by_vega_lites_schema(tmp_path: Path):
    run = read_run(synthetic.write_run(tmp_path))
    content = Report(run, analyse(run))
    drawn = [*pictures(content), *everything(content)["trials"].panels.values()]
    found = [one.specification for one in drawn]
    assert len(found) > 10
    schema = load_schema()
    validator = validator_for(schema)(schema)
    for specification in found:
        validator.validate(specification)
        assert " object at 0x" not in json.dumps(specification), (
            "an object of the program instead of its text"
        )
