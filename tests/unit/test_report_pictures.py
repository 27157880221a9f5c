"""The figures as PNG, SVG and PDF, read again by other programs' rules."""

import io
import struct
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pypdf import PdfReader

from loadcurve.analysis.analysis import analyse
from loadcurve.report.formats.figures import pictures
from loadcurve.report.formats.write import write_formats
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.result.folder import read_run
from support import synthetic_run as synthetic
from support.report_formats import formats_of, write_run_of_two_keys
from support.report_pages import render_report

WORDS = {
    "throughput": ("Requests/s by connections", "connections"),
    "latency-median": ("Latency p50, ms by connections", "connections"),
    "latency-90th-percentile": ("Latency p90, ms by connections", "connections"),
    "latency-99th-percentile": ("Latency p99, ms by connections", "connections"),
    "latency-longest": ("Latency max, ms by connections", "connections"),
    "resources-cpus-in-use": ("CPUs in use by connections", "connections"),
    "resources-cpu-per-request-us": ("CPU per request, µs by connections", "connections"),
    "resources-resident-memory-mib": ("Resident memory, MiB by connections", "connections"),
    "throughput-latency": ("Throughput and latency p99 by connections", "connections", "requests/s"),
    "shapes-bars": ("Greatest throughput, requests/s",),
    "distribution": ("Latency by percentile, in ms", "at connections = 25", "percentile"),
    "distribution-density": ("Density of latency", "at connections = 25", "latency, ms"),
}
"""The title and the axes' titles of each figure."""
OVER_TIME = {
    "time-nginx-connections-200-trial-0",
    "time-apache-connections-200-trial-1",
    "time-tiny-connections-100-trial-7",
}
"""Each server's processes and memory are found to grow, and these are its trials with the longest latency."""
NAMES = set(WORDS) | OVER_TIME
HOSTILE = "<script>x()</script>&\"'"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return formats_of(tmp_path_factory.mktemp("run"), "png", "svg", "pdf")


def chunks_of(png: bytes) -> dict[bytes, bytes]:
    """The chunks of a PNG by their type, those of one type joined; each checksum is verified."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    found: dict[bytes, bytes] = {}
    place = 8
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place : place + 8])
        data = png[place + 8 : place + 8 + length]
        assert struct.unpack(">I", png[place + 8 + length : place + 12 + length])[0] == zlib.crc32(
            kind + data
        )
        found[kind] = found.get(kind, b"") + data
        place += 12 + length
    return found


def test_every_figure_of_the_page_is_a_file_in_each_form(files: dict[str, bytes]):
    assert set(files) == {f"report-{name}.{form}" for name in NAMES for form in ("png", "svg", "pdf")}


def test_there_are_as_many_pictures_as_figures_on_the_page(tmp_path: Path):
    run = synthetic.write_run(tmp_path)
    drawn = render_report(run).count("data-chart=")
    content = Report(read_run(run), analyse(read_run(run)))
    # The panels over time of each trial that a finding names are one picture.
    assert (
        len(pictures(content))
        == drawn - len(everything(content)["trials"].panels) + len(OVER_TIME)
        == len(NAMES)
    )


def test_a_png_is_as_large_as_a_dense_screen_wants_and_not_empty(files: dict[str, bytes]):
    for name in NAMES:
        chunks = chunks_of(files[f"report-{name}.png"])
        width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
        # 640 pixels of plot and the axis, twice as dense.
        assert 1280 < width < 1700, name
        assert 420 < height < (2600 if name in OVER_TIME else 1100), name
        assert len(set(zlib.decompress(chunks[b"IDAT"]))) > 20, name


def test_an_svg_names_the_measured_servers_and_what_is_drawn(files: dict[str, bytes]):
    for name, titles in WORDS.items():
        words = words_of(files[f"report-{name}.svg"])
        assert {*synthetic.SERVERS, *titles} <= words, name
        assert "absent" not in words, name


def words_of(svg: bytes) -> set[str]:
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return {element.text for element in root.iter("{http://www.w3.org/2000/svg}text") if element.text}


def test_a_picture_is_on_white_paper(files: dict[str, bytes]):
    root = ElementTree.fromstring(files["report-throughput.svg"])
    papers = [element.get("fill") for element in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert papers[0] in {"#ffffff", "white"}


def test_a_pdf_is_one_page_as_large_as_the_figure_with_searchable_words(files: dict[str, bytes]):
    for name, titles in WORDS.items():
        drawing = ElementTree.fromstring(files[f"report-{name}.svg"])
        [page] = PdfReader(io.BytesIO(files[f"report-{name}.pdf"])).pages
        size = (float(drawing.get("width", 0)), float(drawing.get("height", 0)))
        assert (page.mediabox.width, page.mediabox.height) == pytest.approx(size, abs=1), name
        said = page.extract_text()
        for words in (*synthetic.SERVERS, *titles):
            assert words in said, (name, words)


def test_the_fonts_of_a_pdf_are_in_it(files: dict[str, bytes]):
    for name in NAMES:
        [page] = PdfReader(io.BytesIO(files[f"report-{name}.pdf"])).pages
        fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]
        assert fonts, name
        for font in fonts:
            # PDF 32000-1, 9.7: the glyphs of a composite font are those of its only descendant.
            of_glyphs = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
            descriptor = of_glyphs["/FontDescriptor"].get_object()
            assert {"/FontFile", "/FontFile2", "/FontFile3"} & set(descriptor), (name, font["/BaseFont"])


def test_a_hostile_name_is_a_text_in_an_svg(tmp_path: Path):
    svg = formats_of(tmp_path, "svg", server=HOSTILE)["report-throughput.svg"]
    root = ElementTree.fromstring(svg)
    assert HOSTILE in words_of(svg)
    assert not [element for element in root.iter() if element.tag.endswith("}script")]


def test_a_name_with_signs_that_no_picture_can_hold_is_drawn_without_them(tmp_path: Path):
    files = formats_of(tmp_path, "svg", "pdf", server="a\x1b[31m\x08")
    assert "a\ufffd[31m\ufffd" in words_of(files["report-throughput.svg"])
    assert len(files) == 2 * len(NAMES)


def test_a_sweep_of_two_keys_has_a_picture_for_each_value_of_the_shorter_one(tmp_path: Path):
    run = write_run_of_two_keys(tmp_path)
    names = [picture.name for picture in pictures(Report(read_run(run), analyse(read_run(run))))]
    assert {"pipeline-1-throughput", "pipeline-8-throughput", "distribution"} <= set(names)
    assert len(set(names)) == len(names)


def test_a_run_without_points_has_no_pictures(tmp_path: Path):
    assert write_formats(synthetic.write_run(tmp_path, records=[]), ["png", "pdf"], None, None).paths == []


def test_the_panels_of_a_trial_stand_over_one_another_with_their_lines_named(files: dict[str, bytes]):
    words = words_of(files["report-time-nginx-connections-200-trial-0.svg"])
    assert {
        "nginx at connections = 200, trial 0",
        "Requests per second",
        "Latency, ms",
        "p90",
        "longest",
    } <= words
