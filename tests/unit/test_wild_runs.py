"""Whatever a run has measured, all that reports it does so, and every figure in it is a number or absent."""

import functools
import html
import io
import json
import math
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import Phase, given, settings
from rich.console import Console

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.comparison import compare_runs
from loadcurve.analysis.gate import Gate
from loadcurve.analysis.numbers import Numbers
from loadcurve.analysis.publication import Publication, published_run
from loadcurve.analysis.published_check import problems_of
from loadcurve.cli.results import show_results
from loadcurve.errors import BadInput
from loadcurve.report.comparison import comparison_json, comparison_lines
from loadcurve.report.findings import findings_text
from loadcurve.report.formats.write import FORMATS
from loadcurve.report.run_summary import numbers_of
from loadcurve.report.runs import list_runs, runs_json, runs_table
from loadcurve.report.runs_page import write_index
from loadcurve.report.section import Report
from loadcurve.report.terminal import print_shapes, summary
from loadcurve.result.checksum import unsealed
from loadcurve.result.folder import read_run
from loadcurve.result.summary import source_of
from loadcurve.watch.feed import Feed
from loadcurve.watch.server import page
from loadcurve.watch.status import status
from support.schemas import validate
from support.terminal import printed
from support.wild_run import MODES, Mode, WildRun, wild_runs

SHORT, LONG = 3, 400
"""How many runs `make test` tries, and how many for each form `make test-long`."""
SMALL = 40
"""How many points a run of the short form plans at most."""
PHASES = (Phase.explicit, Phase.generate)
"""A failing run is not made smaller, which takes minutes: what is printed of it makes it again."""
NO_NUMBER = re.compile(r"(?<![\w.-])[-+]?(nan|inf|infinity)(?![\w.-])", re.IGNORECASE)


@contextmanager
def written(wild: WildRun) -> Iterator[Path]:
    """Write a run into a folder beside no other, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="wild-run-") as place:
        yield wild.write(Path(place, "run"))


@functools.lru_cache(maxsize=2)
def material(wild: WildRun) -> Report:
    """Return a run as it is read, and its analysis, in which no section was left out."""
    with written(wild) as folder:
        run = read_run(folder)
    assert run.damage == ()
    analysis = analyse(run)
    assert analysis.not_computed == []
    return Report(run, analysis)


def strict(text: str | bytes) -> Any:
    """Return JSON data, all of whose numbers are finite."""

    def finite(number: str) -> float:
        assert math.isfinite(float(number)), number
        return float(number)

    return json.loads(text, parse_float=finite, parse_constant=pytest.fail)


def check_words(text: str) -> None:
    found = NO_NUMBER.search(text)
    assert found is None, text[max(0, found.start() - 100) : found.end() + 100]


def terminal(wild: WildRun) -> None:
    report = material(wild)
    out = io.StringIO()
    print_shapes(report, Console(file=out, width=80))
    check_words(printed(summary(report), findings_text(report.analysis.findings)) + out.getvalue())


def end_of_a_run(wild: WildRun) -> None:
    talk, shown = Console(file=io.StringIO()), io.StringIO()
    with written(wild) as folder, redirect_stdout(shown):
        show_results(folder, talk, interrupted=wild.end != "complete")
        strict((folder / "numbers.json").read_bytes())
        check_page((folder / "report.html").read_text())
    check_words(shown.getvalue())


def check_page(text: str) -> None:
    for data in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL):
        strict(data)
    shown = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    check_words(html.unescape(shown))


def form(name: str, wild: WildRun) -> dict[str, bytes]:
    made = material(wild)
    files = dict(FORMATS[name](made))
    assert made.sections.not_computed == []
    return files


def page_form(wild: WildRun) -> None:
    check_page(form("html", wild)["report.html"].decode())


def markdown(wild: WildRun) -> None:
    check_words(form("md", wild)["report.md"].decode())


def csv(wild: WildRun) -> None:
    for data in form("csv", wild).values():
        check_words(data.decode())


def workbook(wild: WildRun) -> None:
    with zipfile.ZipFile(io.BytesIO(form("xlsx", wild)["report.xlsx"])) as book:
        for part in book.namelist():
            check_words(re.sub(r"<[^>]*>", " ", book.read(part).decode()))


def parquet(wild: WildRun) -> None:
    for data in form("parquet", wild).values():
        table = polars.read_parquet(io.BytesIO(data))
        for column in table.select(polars.col(polars.Float64)):
            assert column.drop_nulls().is_finite().all(), column.name


def percentile_tables(wild: WildRun) -> None:
    for data in form("hgrm", wild).values():
        check_words(data.decode())


def histogram_logs(wild: WildRun) -> None:
    for data in form("hlog", wild).values():
        # Base64, which the last column is, may spell anything.
        check_words(re.sub(r"[^,\n]*$", "", data.decode(), flags=re.MULTILINE))


def documents_of_fortio(wild: WildRun) -> None:
    for data in form("fortio", wild).values():
        strict(data)


def summaries_of_k6(wild: WildRun) -> None:
    for data in form("k6-summary", wild).values():
        strict(data)


def output_of_wrk2(wild: WildRun) -> None:
    for data in form("wrk2", wild).values():
        # The distance of the last percentile, 100 %, is infinite in wrk2's own output, too.
        check_words(re.sub(r"( 1\.000000 +\d+) +inf$", r"\1", data.decode(), flags=re.MULTILINE))


def numbers_json(wild: WildRun) -> None:
    made = material(wild)
    with written(wild) as folder:
        text = numbers_of(made.analysis, source_of(folder)).to_json()
    strict(text)
    assert Numbers.model_validate_json(unsealed(text).content).analysis.curves == made.analysis.curves


def compare(wild: WildRun) -> None:
    other = replace(wild, seed=wild.seed + 1, changed=0.5)
    one, another = (material(each).analysis for each in (wild, other))
    for pair in ((one, one), (one, another), (another, one)):
        comparison = compare_runs(*pair)
        check_words(printed(comparison_lines(comparison), width=200))
        strict(json.dumps(comparison_json(comparison, Gate.of(comparison, 0.05))))


def runs(wild: WildRun) -> None:
    with written(wild) as folder:
        found = list_runs(folder.parent)
        strict(json.dumps(runs_json(found)))
        check_page(write_index(found).read_text())
    assert [one.folder for one in found.runs] == [folder]
    check_words(printed(runs_table(found)))


def watch(wild: WildRun) -> None:
    with written(wild) as folder:
        feed = Feed(folder)
        seen = feed.look().seen
        said, drawn = status(seen, now_s=0.0), feed.draw(is_first=True)
    assert seen.problem is None
    strict(json.dumps(said))
    check_page(page(said))
    if drawn is not None:
        strict(drawn.data)


def published(wild: WildRun) -> None:
    """What is published of a run is what its own check computes of the trials in the file."""
    with written(wild) as folder:
        try:
            run = published_run(folder, Publication())
        except BadInput:
            # It is no sweep, or has no valid point.
            return
    strict(run.model_dump_json())
    assert list(problems_of(run)) == []


FORMS: list[Callable[[WildRun], None]] = [
    terminal, page_form, markdown, csv, workbook, parquet, percentile_tables, histogram_logs,
    documents_of_fortio, summaries_of_k6, output_of_wrk2, numbers_json, watch, runs, end_of_a_run, compare,
    published,
]  # fmt: skip


@settings(max_examples=SHORT, phases=PHASES)
@given(wild_runs(SMALL))
def test_whatever_was_measured_is_reported_in_every_form(wild: WildRun):
    for holds in FORMS:
        holds(wild)


@pytest.mark.long
@pytest.mark.parametrize("holds", FORMS, ids=lambda one: str(one.__name__))
def test_whatever_was_measured_is_reported(holds: Callable[[WildRun], None]):
    settings(max_examples=LONG, phases=PHASES)(given(wild_runs())(holds))()


@pytest.mark.parametrize("mode", MODES)
def test_the_records_of_wild_runs_fit_the_published_schemas(mode: Mode):
    wild = WildRun(1, 2, 1, 2, mode, "sweep", 0.3, 0.2, 0.1, 0.2, 0.2, "complete", adaptive=False)
    with written(wild) as folder:
        validate(json.loads((folder / "run.json").read_text()), "run")
        for line in (folder / "trials.jsonl").read_text().splitlines():
            validate(json.loads(line), "trial")
