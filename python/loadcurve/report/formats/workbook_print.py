"""How the workbook prints: A4, each table across one page's width with its heading on every page."""

from collections.abc import Iterable
from itertools import accumulate
from textwrap import wrap

from xlsxwriter.worksheet import Worksheet

A4 = 9
MARGINS_CM = {"left": 1.5, "right": 1.5, "top": 1.8, "bottom": 1.8}
CM_PER_INCH = 2.54
A4_CM = (21.0, 29.7)
PIXELS_PER_INCH = 96
PIXELS_OF_A_CHARACTER, PIXELS_OF_A_COLUMN = 7, 5
"""A column is as wide as its characters, and some pixels more."""
LEAST_SCALE = 0.45
"""Five points are the smallest print that is still read."""
CHARTS_SCALE = 65
"""In percent: charts fit the width also where another font makes columns a fifth wider."""
CHARTS_OF_A_PAGE = 3
LINE_POINTS = 15
"""The height of a line of text."""
MOST_LINES = 27
"""A row is at most this high; Excel's limit is 409 points."""


def print_table(sheet: Worksheet, widths: list[int], rows: int) -> None:
    """Print a table across one page's width; of one that could not be read then, the first columns.

    ``widths`` are those of the columns in characters, and ``rows`` counts those below the heading.
    """
    _page(sheet)
    portrait, landscape = (
        (side - MARGINS_CM["left"] - MARGINS_CM["right"]) / CM_PER_INCH * PIXELS_PER_INCH for side in A4_CM
    )
    reaches = list(accumulate(width * PIXELS_OF_A_CHARACTER + PIXELS_OF_A_COLUMN for width in widths))
    if reaches and reaches[-1] > portrait:
        sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)
    shown = sum(1 for reach in reaches if reach <= landscape / LEAST_SCALE)
    if 0 < shown < len(widths):
        sheet.print_area(0, 0, max(rows, 1), shown - 1)
        _footer(sheet, f"the first {shown} of {len(widths)} columns")


def fit_height(sheet: Worksheet, row: int, texts: Iterable[tuple[int, str]]) -> None:
    """Make a row as high as its texts, each in a column of this many characters, need when they are wrapped.

    Not every program that opens a workbook does so by itself.
    """
    lines = max((len(wrap(words, width)) for width, words in texts), default=1)
    if lines > 1:
        sheet.set_row(row, LINE_POINTS * min(lines, MOST_LINES))


def print_facts(sheet: Worksheet) -> None:
    """Print names and values across one page's width."""
    _page(sheet)
    sheet.fit_to_pages(1, 0)


def print_charts(sheet: Worksheet, charts: int, rows_of_a_chart: int) -> None:
    """Print some charts to a page, whole; page breaks do not count where a sheet is fitted to a page."""
    _page(sheet)
    sheet.set_print_scale(CHARTS_SCALE)
    first_ones = range(CHARTS_OF_A_PAGE, charts, CHARTS_OF_A_PAGE)
    sheet.set_h_pagebreaks([place * rows_of_a_chart for place in first_ones])


def _page(sheet: Worksheet) -> None:
    sheet.set_paper(A4)
    sheet.set_margins(**{side: width / CM_PER_INCH for side, width in MARGINS_CM.items()})
    _footer(sheet)


def _footer(sheet: Worksheet, note: str | None = None) -> None:
    """Name the sheet, with a note, and the page."""
    sheet.set_footer(f"&L&A{f', {note}' if note else ''}&R&P / &N")
