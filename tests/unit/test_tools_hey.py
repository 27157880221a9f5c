"""What hey printed before 0.1.5 is read as written; that of 0.1.0 has its parts in another order."""

import re
from pathlib import Path

import pytest

from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools" / "hey"
TEXTS = ["0.1.0.txt", "0.1.0-404.txt", "0.1.0-closed.txt", "0.1.1.txt", "0.1.1-closed.txt"]


def text_of(name: str) -> str:
    return (DATA / name).read_text()


def figures(source: Path, named: str | None = None) -> ToolFigures:
    return read_figures(Source(source), named)[0]


def written(folder: Path, text: str) -> Path:
    (folder / "hey").write_text(text)
    return folder / "hey"


@pytest.mark.parametrize("name", TEXTS)
def test_the_figures_of_a_text_of_any_version_are_those_that_stand_there(name: str):
    assert format_of(Source(DATA / name), None).name == "hey-text"
    text, found = text_of(name), figures(DATA / name)
    counts = {f"{code}xx": int(count) for code, count in re.findall(r"\[(\d)\d\d\]\s+(\d+) responses", text)}
    assert (found.status, found.answered) == (counts, sum(counts.values()))
    # It prints four decimals of both.
    assert found.duration_s == pytest.approx(float(re.findall(r"Total:\s+(\S+) secs", text)[0]), abs=5e-5)
    # Until 0.1.0 its rate is that of the answers.
    counted = found.answered if name.startswith("0.1.0") else found.answered + (found.failed or 0)
    rate_rps = float(re.findall(r"Requests/sec:\s+(\S+)", text)[0])
    assert counted / found.duration_s == pytest.approx(rate_rps, abs=5e-5)
    assert found.latency is not None
    latency = found.latency.distribution
    for line, figure in (("Slowest", latency.max), ("Fastest", latency.min), ("Average", latency.mean)):
        assert figure == pytest.approx(1e3 * float(re.findall(rf"{line}:\s+(\S+) secs", text)[0]))
    for share, figure in (("50", latency.p50), ("90", latency.p90)):
        assert figure == pytest.approx(1e3 * float(re.findall(rf"{share}% in (\S+) secs", text)[0]))
    assert found.bytes_body == int(re.findall(r"Total data:\s+(\d+) bytes", text)[0])


@pytest.mark.parametrize("name", ["0.1.0-closed.txt", "0.1.1-closed.txt"])
def test_failures_have_their_count_and_their_class_in_either_order_of_the_parts(name: str):
    failed = int(re.findall(r"\[(\d+)\]\s+Get .*EOF", text_of(name))[0])
    found = figures(DATA / name)
    assert (found.answered + failed, found.failed, found.errors["closed_early"]) == (60, failed, failed)


def test_without_errors_behind_all_it_is_not_known_whether_there_were_any():
    assert figures(DATA / "0.1.0.txt").failed is None
    assert figures(DATA / "0.1.1.txt").failed == 0


@pytest.mark.parametrize("name", ["0.1.0.txt", "0.1.0-404.txt"])
def test_a_text_of_the_oldest_version_that_is_cut_off_is_refused_or_lacks_percentiles_alone(
    name: str, tmp_path: Path
):
    text, whole = text_of(name), figures(DATA / name)
    for length in range(0, len(text), 3):
        try:
            found = figures(written(tmp_path, text[:length]), "hey-text")
        except Unreadable:
            continue
        assert (found.answered, found.failed) == (whole.answered, None)
        assert found.latency is not None
        assert "90% in" in text[:length]


def test_a_text_without_an_answer_of_the_oldest_version_does_not_say_how_long_it_took():
    with pytest.raises(Unreadable, match="hey's line Total"):
        figures(DATA / "0.1.0-refused.txt", "hey-text")


def test_a_csv_of_0_1_1_says_what_arithmetic_on_its_lines_says():
    found = figures(DATA / "0.1.1.csv")
    lines = [line.split(",") for line in text_of("0.1.1.csv").splitlines()[1:]]
    times = [float(line[0]) for line in lines]
    begins = [float(line[7]) for line in lines]
    ends = [begin + time for begin, time in zip(begins, times, strict=True)]
    assert (found.answered, found.failed) == (len(lines), None)
    assert found.duration_s == pytest.approx(max(ends) - min(begins))
    assert found.latency is not None
    assert found.latency.distribution.mean == pytest.approx(1e3 * sum(times) / len(times))


@pytest.mark.parametrize(
    "columns", ["response-time", "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read"]
)
def test_a_csv_without_moments_is_refused_with_what_to_import_instead(columns: str, tmp_path: Path):
    """Version 0.1.0 writes these, the longer one with ``-more``."""
    path = written(tmp_path, columns + "\n" + ",".join(["0.0010"] * len(columns.split(","))) + "\n")
    assert format_of(Source(path), None).name == "hey-csv"
    with pytest.raises(Unreadable, match=r"line 1: found no column offset; .* import its text"):
        figures(path)
