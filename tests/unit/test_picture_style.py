"""Pictures by choice: which figures, how large and in which font."""

import io
import re

import pypdf
import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.cli.report_formats import formats_command
from loadcurve.errors import BadInput
from loadcurve.report.formats.figures import pictures
from loadcurve.report.formats.pictures import pdf_pictures, svg_pictures
from loadcurve.report.picture_style import AS_ON_PAGE, parse_style
from loadcurve.report.section import Report
from loadcurve.result.folder import read_run
from support import synthetic_run as synthetic

CM_PX, CM_PT = 96 / 2.54, 72 / 2.54


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return read_run(synthetic.write_run(tmp_path_factory.mktemp("pictures") / "run"))


@pytest.mark.parametrize(
    ("size", "sides_px"),
    [
        ("640x400", (640, 400)),
        ("640pxx400px", (640, 400)),
        ("8.5cmx6cm", (8.5 * CM_PX, 6 * CM_PX)),
        ("8.5x6cm", (8.5 * CM_PX, 6 * CM_PX)),
        ("4inx3in", (384, 288)),
        ("300ptx200pt", (400, 800 / 3)),
        ("100mm x 80mm", (1000 / 25.4 * 9.6, 800 / 25.4 * 9.6)),
    ],
)
def test_a_size_is_read_in_the_units_of_css(size, sides_px):
    assert parse_style(None, size, None).size_px == pytest.approx(sides_px)


@pytest.mark.parametrize(
    ("names", "size", "font", "said"),
    [
        (None, "640", None, "--size 640: expected width and height"),
        (None, "-1x400", None, "--size -1x400: expected"),
        (None, "100x400", None, "from 120 to 4,000 pixels each"),
        (None, "9999cmx1cm", None, "from 120 to 4,000 pixels each"),
        (" , ", None, None, "--figures: no name"),
        (None, None, "a'; b", "--font a'; b: expected the name of an installed font"),
    ],
)
def test_what_is_no_style_is_refused(names, size, font, said):
    with pytest.raises(BadInput, match=re.escape(said)):
        parse_style(names, size, font)


def test_without_options_pictures_are_as_on_the_page():
    assert parse_style(None, None, None) == AS_ON_PAGE


def test_only_the_figures_that_are_asked_for_are_drawn(run):
    report = Report(run, analyse(run), parse_style("latency, throughput", None, None))
    names = [one.name for one in pictures(report)]
    assert names
    assert all(name.startswith(("latency", "throughput")) for name in names)


def test_a_figure_that_is_not_there_is_named_with_the_nearest(run):
    report = Report(run, analyse(run), parse_style("thruput", None, None))
    with pytest.raises(BadInput, match=r'--figures thruput: .*did you mean "throughput"'):
        pictures(report)


def test_a_picture_has_the_size_and_the_font_that_are_asked_for(run):
    style = parse_style("throughput", "8.5cmx6cm", "DejaVu Serif")
    report = Report(run, analyse(run), style)
    [(_, svg), *_] = svg_pictures(report)
    sides = re.search(rb'width="([\d.]+)" height="([\d.]+)"', svg).groups()
    assert [float(side) for side in sides] == pytest.approx([8.5 * CM_PX, 6 * CM_PX])
    assert b'font-family="DejaVu Serif"' in svg
    [(_, pdf), *_] = pdf_pictures(report)
    page = pypdf.PdfReader(io.BytesIO(pdf)).pages[0].mediabox
    assert (page.width, page.height) == (pytest.approx(8.5 * CM_PT, 1e-3), pytest.approx(6 * CM_PT, 1e-3))


def test_a_style_without_a_picture_is_refused(run):
    with pytest.raises(BadInput, match="expected one of png, svg, pdf among the formats"):
        formats_command(run.folder, "md", None, None, parse_style(None, "640x400", None))
