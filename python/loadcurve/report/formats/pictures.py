"""Every figure as a separate file: PNG for documents and chats, SVG and PDF for papers."""

import re
from collections.abc import Iterable

import altair
import vl_convert

from loadcurve.report.charts.figure import Specification
from loadcurve.report.formats.figures import pictures
from loadcurve.report.section import Report

PIXELS_PER_POINT = 2
"""A PNG has this many pixels per CSS pixel: enough for a dense screen and for print at half the width."""

POINTS_PER_PIXEL = 72 / 96
_SIDES = re.compile(r'width="([\d.]+)" height="([\d.]+)"')
NO_ADDRESSES: list[str] = []
"""A specification holds its data; whatever it names, nothing is loaded."""


def png_pictures(report: Report) -> Iterable[tuple[str, bytes]]:
    """Yield the name and the bytes of each figure as PNG."""
    for picture in pictures(report):
        yield (
            picture.name,
            vl_convert.vegalite_to_png(
                picture.specification,
                vl_version=vega_lite_version(),
                scale=PIXELS_PER_POINT,
                allowed_base_urls=NO_ADDRESSES,
            ),
        )


def svg_pictures(report: Report) -> Iterable[tuple[str, bytes]]:
    """Yield the name and the bytes of each figure as SVG; its texts stay texts."""
    for picture in pictures(report):
        yield picture.name, _svg(picture.specification).encode()


def drawing(report: Report, name: str) -> str | None:
    """Return the first figure whose name begins so as SVG; ``None`` where the report has none."""
    found = (picture for picture in pictures(report) if picture.name.startswith(name))
    picture = next(found, None)
    return None if picture is None else _svg(picture.specification)


def _svg(specification: Specification) -> str:
    drawn: str = vl_convert.vegalite_to_svg(
        specification, vl_version=vega_lite_version(), allowed_base_urls=NO_ADDRESSES
    )
    return drawn


def pdf_pictures(report: Report) -> Iterable[tuple[str, bytes]]:
    """Yield the name and the bytes of each figure as a PDF of one page, to be included in a paper.

    A pixel is a point of it, but where a size is asked for, the page is as large as that on paper.
    """
    for picture in pictures(report):
        drawn = _svg(picture.specification)
        if report.picture_style.size_px is not None:
            drawn = _SIDES.sub(_in_points, drawn, count=1)
        yield picture.name, vl_convert.svg_to_pdf(drawn)


def _in_points(sides: re.Match[str]) -> str:
    """Return the sides of an SVG that a PDF of as many points has; what is drawn shrinks with them."""
    width, height = (float(side) * POINTS_PER_PIXEL for side in sides.groups())
    return f'width="{width}" height="{height}"'


def vega_lite_version() -> str:
    """Return the version of Vega-Lite that Altair writes for, such as ``6.1``."""
    return ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
