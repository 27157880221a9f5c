"""A section that a fault of ours leaves out says so in its place; the others are there."""

from pathlib import Path

import pytest

from loadcurve.analysis import analysis as analysis_module
from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.sections import Sections
from loadcurve.cli.report import report_command
from loadcurve.errors import BadInput, LoadcurveError
from loadcurve.report import content as content_module
from loadcurve.report.terminal import summary
from loadcurve.result.folder import Run
from support import synthetic_run as synthetic
from support.terminal import printed


def fail(*_arguments: object) -> None:
    raise OverflowError("math range error")


@pytest.mark.parametrize(
    ("function", "section"),
    [
        ("rank_run", "the ranking by throughput"),
        ("noise_of", "the noise of throughput"),
        ("shapes", "the shapes of the curves"),
        ("findings", "the findings"),
        ("published_matches", "the published figures"),
    ],
)
def test_a_section_of_the_analysis_that_fails_leaves_the_others(
    function: str, section: str, run: Run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(analysis_module, function, fail)
    found = analyse(run)
    assert section in [one.section for one in found.not_computed]
    assert {one.reason for one in found.not_computed} == {"OverflowError: math range error"}
    shown = " ".join(printed(summary(found), width=200).split())
    assert f"A fault of Loadcurve left out {section}: OverflowError: math range error." in shown
    assert "nginx" in shown


@pytest.mark.parametrize("function", ["ranking_content", "parts", "_shapes", "distribution"])
def test_the_page_is_written_without_a_section_that_fails_and_the_command_ends_with_1(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = synthetic.write_run(tmp_path / "run")
    monkeypatch.setattr(content_module, function, fail)
    with pytest.raises(LoadcurveError, match="A fault of Loadcurve left out") as raised:
        report_command(folder, None)
    assert raised.value.exit_code == 1
    page = (folder / "report.html").read_text()
    assert "OverflowError: math range error" in page
    assert "The answer" in page


def test_what_is_said_in_its_own_words_is_no_fault_of_a_section():
    def refuse() -> None:
        raise BadInput("no limits here")

    with pytest.raises(BadInput):
        Sections().get("the shapes", refuse, None)
