"""The picture of the terminal holds what its caption in the README promises."""

import html
import re
from pathlib import Path

import pytest
from docs.pictures.make import HERE, terminal_picture

from loadcurve.analysis.analysis import analyse
from loadcurve.report.answer import answer_words
from loadcurve.result.folder import read_run
from support import synthetic_run as synthetic


def words_in(svg: str) -> str:
    """The words of a picture, between single blanks."""
    return " ".join(html.unescape(" ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))).split())


def test_the_picture_holds_the_answer_the_table_the_curves_and_what_to_try_next(tmp_path, monkeypatch):
    # A path longer than the terminal is wide would be cut off.
    monkeypatch.chdir(tmp_path)
    folder = synthetic.write_run(Path("run"))
    picture = terminal_picture(folder)
    shown = words_in(picture)
    answer = answer_words(analyse(read_run(folder)))
    assert answer
    assert " ".join(answer.split()) in shown
    table, answered, curves, path, following = (
        shown.index(part) for part in ("server connections", "Answer", "\u2581", "report.html", "Next")
    )
    assert answered < table < curves < path < following
    assert "font-face" not in picture


@pytest.mark.parametrize("part", ["server connections", "Answer", "\u2588", "report.html", "Next"])
def test_the_picture_in_the_readme_was_made_so(part: str):
    assert part in words_in((HERE / "terminal.svg").read_text(encoding="utf-8"))
