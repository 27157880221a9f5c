"""Texts of ab whose counts or times are not what they seem (tests/data/tools/ab, made)."""

import re
from pathlib import Path

import pytest

from loadcurve.imported.pattern import named_files
from loadcurve.imported.plan import read_files
from loadcurve.imported.records import load_result
from loadcurve.result.load import LoadResult
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"


def figures(path: Path | str) -> ToolFigures:
    return read_figures(Source(DATA / path), None)[0]


def result(path: Path | str) -> LoadResult:
    [one] = read_files(named_files([str(DATA / path)], ""), None, None, {})
    return load_result(one)


def reasons(one: LoadResult) -> dict[str, str]:
    return {reason.code: reason.text for reason in one.verdict.reasons}


@pytest.mark.parametrize("name", ["ab.txt", "ab/2.3-redirected.txt", "ab/2.3-closed.txt"])
def test_requests_by_the_second_are_the_rate_that_ab_prints(name: str):
    text, found = (DATA / name).read_text(), figures(name)
    rate_rps = float(re.findall(r"Requests per second: +(\S+)", text)[0])
    assert found.answered / found.duration_s == pytest.approx(rate_rps, abs=0.01)


def test_the_rate_of_ab_has_more_digits_than_its_time():
    found = figures("made/ab-rounded-time.txt")
    assert found.answered / found.duration_s == pytest.approx(19821.6)
    assert found.duration_s == pytest.approx(0.05045, rel=1e-4)
    assert found.contradictions == []


def test_version_2_0_prints_microseconds_without_zeros_in_front(tmp_path: Path):
    found = figures("made/ab-2.0.txt")
    assert (found.duration_s, found.answered, found.contradictions) == (3.0075, 6000, [])
    text = (DATA / "made/ab-2.0.txt").read_text()
    later = tmp_path / "later.txt"
    later.write_text(text.replace("Version 2.0.40-dev", "Version 2.3"))
    [said] = figures(later).contradictions
    assert said == "6,000 requests in 3.75 s are 1,600.0/s, and it says 1,995.01/s"
    assert result(later).verdict.status == "suspect"
    assert "contradicts itself" in reasons(result(later))["contradictory"]


def test_answers_that_the_bytes_cannot_hold_are_failures():
    found = figures("made/ab-empty-answers.txt")
    assert (found.answered, found.failed, found.ok, found.latency) == (50, 9950, None, None)
    assert result("made/ab-empty-answers.txt").verdict.status == "invalid"


def test_connections_that_close_without_a_byte_are_no_answers():
    """So nginx ended all of them (``return 444``), which ab calls complete."""
    found = figures("ab/2.3-all-closed.txt")
    assert (found.answered, found.failed) == (0, 1000)


def test_what_comes_without_a_body_where_the_first_had_one_is_no_answer(tmp_path: Path):
    """Of 1,000, 400 of 246 bytes; heads of all of them would have 56 bytes."""
    text = (DATA / "made/ab-rounded-time.txt").read_text()
    made = tmp_path / "made.txt"
    made.write_text(
        text.replace("Failed requests:        0", "Failed requests:        600\n   (Connect: 0, Receive: 0, "
        "Length: 600, Exceptions: 0)")
        .replace("Total transferred:      250000", "Total transferred:      98400")
        .replace("HTML transferred:       100000", "HTML transferred:       40000")
    )  # fmt: skip
    found = figures(made)
    assert (found.answered, found.failed, found.other_length) == (400, 600, 0)


def test_an_empty_first_answer_leaves_it_open_whether_the_others_were_answered():
    """Nginx closed 404 of these connections, the first among them; ab says of 596 that they failed."""
    found = figures("ab/2.3-closed.txt")
    assert (found.answered, found.failed) == (1000, 0)
    assert "up to 404 of the 1,000" in reasons(result("ab/2.3-closed.txt"))["errors"]
    assert result("ab/2.3-closed.txt").verdict.status == "suspect"


def test_redirections_are_no_error_pages():
    one = result("ab/2.3-redirected.txt")
    assert (one.requests.answered, one.requests.ok, one.status) == (1000, None, None)
    text = reasons(one)["error_status"]
    assert "487 of 1,000 answers have another status than 2xx: redirections or errors" in text
    assert one.verdict.status == "suspect"


def test_the_table_of_html_says_what_the_text_does():
    """Of 200 requests one in ten is answered with 500: 180 bodies of 1,024 bytes and 20 of 4."""
    found = figures("ab/2.3-some-500.html")
    assert (found.version, found.answered, found.failed, found.ok, found.other_length) == (
        "2.3", 200, 0, None, 20,
    )  # fmt: skip
    assert found.bytes_body == 180 * 1024 + 20 * 4
    assert found.answered / found.duration_s == pytest.approx(24213.08)
    assert (found.asked.connections, found.asked.paths, found.asked.target) == (
        4, ["/some500"], "127.0.0.1:18471",
    )  # fmt: skip
    assert found.latency is not None
    times = found.latency.distribution
    assert (times.min, times.mean, times.p50, times.max) == (None, None, None, 2.0)
    assert (
        "20 of 200 answers have another status than 2xx"
        in reasons(result("ab/2.3-some-500.html"))["error_status"]
    )


def test_html_that_is_cut_off_is_refused(tmp_path: Path):
    text = (DATA / "ab/2.3-some-500.html").read_text()
    cut = tmp_path / "cut.html"
    cut.write_text(text[: text.index("</table>")])
    with pytest.raises(Unreadable, match="the end of ab's table: it is truncated"):
        figures(cut)


@pytest.mark.parametrize("name", ["ab/2.3-slow.txt", "ab/2.3-all-slow.txt"])
def test_a_load_that_ab_gave_up_is_refused_with_what_ab_said(name: str):
    """A request without an answer within ``-s`` ends its load, whatever ``-r`` says."""
    with pytest.raises(
        Unreadable, match=r"'apr_pollset_poll: The timeout specified has expired .* gave its load up"
    ):
        figures(name)


def test_times_of_failures_are_not_those_of_answers():
    """Of 200 requests to a port on which nobody listens (``-r``) ab prints how long the failures took."""
    found = figures("ab/2.3-refused.txt")
    assert (found.answered, found.failed, found.latency) == (0, 200, None)
    assert found.not_measured == ["latencies of answers: ab summarises those of failures with them"]
