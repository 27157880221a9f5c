"""The text that oha prints for people is read in whatever unit it has."""

from pathlib import Path

import pytest

from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import read_figures
from loadcurve.tools.source import Source

TEXT = (Path(__file__).parents[1] / "data" / "tools" / "made" / "oha-text.txt").read_text()


def read(folder: Path, text: str) -> ToolFigures:
    path = folder / "oha.txt"
    path.write_text(text)
    figures, form = read_figures(Source(path), None)
    assert form.name == "oha-text"
    return figures


def test_counts_are_those_by_status_and_by_error_without_what_the_end_of_the_time_cut_off(tmp_path: Path):
    found = read(tmp_path, TEXT)
    assert (found.tool, found.answered, found.failed, found.duration_s) == ("oha", 200, 2, 2.0)
    assert found.status == {"2xx": 180, "5xx": 20}
    assert {name: count for name, count in found.errors.items() if count} == {"reset": 2}
    # 208 in 2 s are the 104/s of its text, with the six that it gave up.
    assert not found.contradictions


def test_times_are_those_of_all_answers_in_milliseconds(tmp_path: Path):
    latency = read(tmp_path, TEXT).latency
    assert latency is not None
    found = latency.distribution
    assert (found.min, found.mean, found.max) == pytest.approx((0.4, 11.9, 1203.4))
    assert (found.p50, found.p90, found.p95) == pytest.approx((0.8, 2.2, 3.5))
    assert latency.resolution_ms == pytest.approx(0.1)


@pytest.mark.parametrize(("unit", "of_second"), [("ms", 1e3), ("us", 1e6), ("secs", 1.0), ("min", 1 / 60)])
def test_the_unit_of_the_text_counts(unit: str, of_second: float, tmp_path: Path):
    text = TEXT.replace(" sec", f" {unit}").replace("104.0000", f"{104 * of_second:.4f}")
    found = read(tmp_path, text)
    assert found.duration_s == pytest.approx(2.0 / of_second, rel=1e-3)
    assert found.latency is not None
    assert found.latency.distribution.max == pytest.approx(1203.4 / of_second)


def test_the_names_of_old_versions_and_a_text_without_indentation_are_read_alike(tmp_path: Path):
    old = TEXT.replace("Response time distribution:", "Latency distribution:").replace(".00% in", "% in")
    flat = "".join(line.strip() + "\n" for line in TEXT.splitlines())
    whole = read(tmp_path, TEXT)
    assert read(tmp_path, old) == whole
    assert read(tmp_path, flat) == whole


def test_bytes_are_known_where_they_are_not_rounded(tmp_path: Path):
    assert read(tmp_path, TEXT).bytes_body is None
    assert read(tmp_path, TEXT.replace("199.01 KiB", "592 B")).bytes_body == 592


def test_a_text_without_some_of_its_statuses_is_refused(tmp_path: Path):
    with pytest.raises(Unreadable, match="188 requests by status and by error"):
        read(tmp_path, TEXT.replace("  [503] 20 responses\n", ""))
