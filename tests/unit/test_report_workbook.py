"""The workbook, opened again by another library."""

import io
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.chart import BarChart, ScatterChart

from loadcurve.report.appearance import appearances
from loadcurve.report.formats.write import write_formats
from support import synthetic_run as synthetic
from support.report_formats import RUNS_IN_A_SPREADSHEET, formats_of, write_run_of_two_keys


def workbook(data: bytes) -> Any:
    return openpyxl.load_workbook(io.BytesIO(data))


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return workbook(formats_of(tmp_path_factory.mktemp("run"), "xlsx")["report.xlsx"])


def rows_of(sheet: Any) -> list[dict[str, Any]]:
    heading, *rows = sheet.iter_rows()
    return [{title.value: cell for title, cell in zip(heading, row, strict=True)} for row in rows]


def test_each_table_is_a_sheet_whose_heading_stays(book: Any):
    assert book.sheetnames == [
        "run", "charts", "estimates", "points", "operations", "ranking", "ratios", "shapes", "findings",
        "evidence", "failures",
    ]  # fmt: skip
    for name in book.sheetnames[2:]:
        assert book[name].freeze_panes == "A2"


def test_each_table_prints_on_a4_across_one_page_with_its_heading_on_every_page(book: Any):
    for sheet in book:
        assert sheet.page_setup.paperSize == int(sheet.PAPERSIZE_A4)
        assert sheet.oddFooter.right.text == "&P / &N"
    for name in book.sheetnames[2:]:
        sheet = book[name]
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
        # One page across is the format's default, and 0 is as many below one another as it takes.
        assert (sheet.page_setup.fitToWidth or 1, sheet.page_setup.fitToHeight) == (1, 0)
        assert sheet.print_title_rows == "$1:$1"
        # A character is 7 pixels wide, of which an inch has 96; A4 is 21.0 cm by 29.7 cm.
        across_cm = sum(widths_of(sheet)) * 7 / 96 * 2.54
        margins_cm = (sheet.page_margins.left + sheet.page_margins.right) * 2.54
        is_wide = across_cm > 21.0 - margins_cm
        assert sheet.page_setup.orientation == ("landscape" if is_wide else "portrait"), name


def test_a_table_that_is_too_wide_to_read_prints_its_first_columns_and_says_so(book: Any):
    cut = [name for name in book.sheetnames[2:] if book[name].print_area]
    assert cut == ["points"]
    sheet = book["points"]
    [(*_, last, bottom)] = [openpyxl.utils.range_boundaries(sheet.print_area.split("!")[-1])]
    assert bottom == sheet.max_row
    assert f"the first {last} of {sheet.max_column} columns" in sheet.oddFooter.left.text
    room_cm = 29.7 - (sheet.page_margins.left + sheet.page_margins.right) * 2.54
    reach_cm = [sum(widths_of(sheet)[:columns]) * 7 / 96 * 2.54 for columns in (last, last + 1)]
    # At 45 % of 11 points the letters have five.
    assert reach_cm[0] <= room_cm / 0.45 * 1.01
    assert reach_cm[1] > room_cm / 0.45 * 0.99


def widths_of(sheet: Any) -> list[float]:
    """The width of each column in characters; neighbours of one width share an entry."""
    entries = sheet.column_dimensions.values()
    return [one.width for one in entries for _ in range(one.min, one.max + 1)]


def test_a_row_is_as_high_as_its_longest_text(book: Any):
    sheet = book["findings"]
    for row in sheet.iter_rows(min_row=2):
        wrapped = [cell for cell in row if cell.alignment.wrap_text]
        assert wrapped
        for cell in wrapped:
            width = widths_of(sheet)[cell.column - 1]
            # 15 points for a line.
            assert sheet.row_dimensions[cell.row].height >= 15 * len(cell.value) / width


def test_the_figures_are_the_runs_and_they_are_numbers(book: Any):
    found = [
        row
        for row in rows_of(book["estimates"])
        if (row["measure"].value, row["server"].value) == ("throughput_rps", "nginx")
    ]
    assert [row["connections"].value for row in found] == list(synthetic.CONNECTIONS)
    truth = synthetic.SERVERS["nginx"]
    for row, connections in zip(found, synthetic.CONNECTIONS, strict=True):
        value = truth.throughput_rps(connections)
        low, high = value / synthetic.REACH, value * synthetic.REACH
        cells = [row[name] for name in ("value", "low", "high", "below", "above")]
        assert [cell.value for cell in cells] == pytest.approx([value, low, high, value - low, high - value])
        assert {cell.data_type for cell in cells} == {"n"}
        assert row["value"].number_format == "#,##0.0"


def test_a_heading_says_the_unit_and_what_was_not_measured_is_empty(book: Any):
    points = rows_of(book["points"])
    assert len(points) == 69
    first = points[0]
    assert first["latency p50, ms"].number_format == "#,##0.000"
    assert first["server cpu, %"].number_format == "0.0%"
    assert first["latency p99.9, ms"].value is None


def test_the_cells_of_a_column_are_of_one_type_and_no_number_is_a_text(book: Any):
    for name in book.sheetnames[2:]:
        heading, *rows = book[name].iter_rows()
        for place, title in enumerate(heading):
            filled = [row[place] for row in rows if row[place].value is not None]
            assert len({cell.data_type for cell in filled}) <= 1, (name, title.value)
            texts = [cell.value for cell in filled if cell.data_type == "s"]
            assert not [text for text in texts if text.replace(".", "", 1).isdigit()], (name, title.value)


def test_everything_that_a_chart_refers_to_is_a_filled_cell(book: Any):
    for chart in book["charts"]._charts:
        series = chart.series
        references = [one.tx.strRef.f for one in series] + [chart.x_axis.title.tx.strRef.f]
        references += [one.xVal.numRef.f for one in series] + [one.yVal.numRef.f for one in series]
        for reference in references:
            sheet, _, place = reference.partition("!")
            cells = book[sheet][place.replace("$", "")]
            for (cell,) in cells if isinstance(cells, tuple) else [(cells,)]:
                assert cell.value is not None, (reference, cell.coordinate)


def test_a_server_has_the_colour_in_a_chart_that_it_has_everywhere(book: Any):
    looks = appearances(synthetic.SERVERS)
    for chart in book["charts"]._charts:
        for series, look in zip(chart.series, looks.values(), strict=True):
            assert f"#{series.graphicalProperties.line.solidFill.srgbClr.lower()}" == look.colour
            assert f"#{series.marker.graphicalProperties.solidFill.srgbClr.lower()}" == look.colour
        assert len({series.marker.symbol for series in chart.series}) == len(looks)


def test_throughput_and_p99_are_charts_of_the_sheets_own_cells(book: Any):
    throughput, p99 = book["charts"]._charts
    assert isinstance(throughput, ScatterChart)
    assert [series.tx.strRef.f for series in throughput.series] == [
        "estimates!$C$2",
        "estimates!$C$10",
        "estimates!$C$18",
    ]
    sheet = book["estimates"]
    for chart, measure in ((throughput, "throughput_rps"), (p99, "latency_p99_ms")):
        assert len(chart.series) == 3
        assert chart.x_axis.scaling.logBase == 10
        for series in chart.series:
            references = (series.yVal.numRef.f, series.errBars.plus.numRef.f, series.errBars.minus.numRef.f)
            titles = []
            for reference in references:
                cells = sheet[reference.partition("!")[2].replace("$", "")]
                assert len(cells) == len(synthetic.CONNECTIONS)
                titles.append(sheet.cell(1, cells[0][0].column).value)
                assert {sheet.cell(cell.row, 1).value for (cell,) in cells} == {measure}
                named = series.tx.strRef.f.partition("!")[2].replace("$", "")
                assert {sheet.cell(cell.row, 3).value for (cell,) in cells} == {sheet[named].value}
            assert titles == ["value", "above", "below"]


def test_a_single_point_is_a_chart_with_a_bar_for_each_server(tmp_path: Path):
    [path] = write_formats(synthetic.write_points(tmp_path, 50), ["xlsx"], None, None).paths
    throughput, _ = openpyxl.load_workbook(path)["charts"]._charts
    assert isinstance(throughput, BarChart)
    [series] = throughput.series
    assert series.cat.strRef.f == "estimates!$C$2:$C$4"


def test_a_sweep_of_two_keys_has_charts_for_each_value_of_the_shorter_one(tmp_path: Path):
    run = write_run_of_two_keys(tmp_path)
    [path] = write_formats(run, ["xlsx"], None, None).paths
    book = openpyxl.load_workbook(path)
    charts = book["charts"]._charts
    assert len(charts) == 4
    sheet = book["estimates"]
    depth_column = [cell.value for cell in sheet[1]].index("pipeline") + 1
    cells = sheet[charts[2].series[0].yVal.numRef.f.partition("!")[2].replace("$", "")]
    assert {sheet.cell(cell.row, depth_column).value for (cell,) in cells} == {8}


def test_charts_print_whole(tmp_path: Path):
    [path] = write_formats(write_run_of_two_keys(tmp_path), ["xlsx"], None, None).paths
    sheet = openpyxl.load_workbook(path)["charts"]
    anchors = [(chart.anchor._from, chart.anchor.to) for chart in sheet._charts]
    breaks = [one.id for one in sheet.row_breaks.brk]
    assert len(anchors) == 4
    assert breaks
    pages = [sum(row <= start.row for row in breaks) for start, _ in anchors]
    assert pages == [sum(row <= end.row for row in breaks) for _, end in anchors]
    scale = sheet.page_setup.scale / 100
    # Cells of the usual size: 64 pixels wide, 15 points high. A page is 21.0 cm by 29.7 cm.
    across_cm = max(end.col + 1 for _, end in anchors) * 64 / 96 * 2.54 * scale
    assert across_cm <= 21.0 - (sheet.page_margins.left + sheet.page_margins.right) * 2.54
    tallest = max(end.row + 1 - ([0, *breaks][page]) for page, (_, end) in zip(pages, anchors, strict=True))
    assert (
        tallest * 15 / 72 * 2.54 * scale <= 29.7 - (sheet.page_margins.top + sheet.page_margins.bottom) * 2.54
    )


def test_a_hostile_name_is_a_text_in_every_cell_and_no_formula_anywhere(tmp_path: Path):
    book = workbook(formats_of(tmp_path, "xlsx", server=RUNS_IN_A_SPREADSHEET)["report.xlsx"])
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    named = [cell for cell in cells if cell.value == RUNS_IN_A_SPREADSHEET]
    assert len(named) > 100
    assert {cell.data_type for cell in named} == {"s"}
    assert "f" not in {cell.data_type for cell in cells}
    for chart in book["charts"]._charts:
        assert all(series.tx.strRef.f.startswith("estimates!$C$") for series in chart.series)


def test_the_same_run_gives_the_same_workbook(tmp_path: Path):
    first = formats_of(tmp_path / "a", "xlsx")
    assert formats_of(tmp_path / "b", "xlsx") == first


def test_a_run_without_points_has_a_workbook_without_charts(tmp_path: Path):
    [path] = write_formats(synthetic.write_run(tmp_path, records=[]), ["xlsx"], None, None).paths
    assert openpyxl.load_workbook(path)["charts"]._charts == []
