"""Figures of published results: as they are shown, sorted, and taken along as CSV."""

import pytest

from loadcurve.report.site.values import cell, heading
from loadcurve.result.site_index import Headline


@pytest.mark.parametrize(
    ("measure", "unit", "si", "title", "shown"),
    [
        ("latency_p99_s", "s", (0.00160579, 0.00146, 0.00177), "title, ms", (1.60579, 1.46, 1.77)),
        ("server_cpu_per_request_s", "s", (8.25e-05, 7.75e-05, 8.75e-05), "title, µs", (82.5, 77.5, 87.5)),
        # 300 MiB and 2 MiB on either side.
        ("memory", "bytes", (314572800.0, 312475648.0, 316669952.0), "title, MiB", (300.0, 298.0, 302.0)),
        ("throughput_rps", "1/s", (4250.0, 4000.0, 4500.0), "title, /s", (4250.0, 4000.0, 4500.0)),
    ],
)
def test_what_a_cell_is_sorted_by_and_exported_as_is_in_the_unit_of_its_heading_and_interval(
    measure: str,
    unit: str,
    si: tuple[float, float, float],
    title: str,
    shown: tuple[float, float, float],
):
    value, low, high = si
    _, interval, exported = cell(Headline(value=value, low=low, high=high, n=3), measure, unit)
    ends = [float(end.replace(",", "")) for end in interval.split(" to ")]
    assert [float(exported), *ends] == pytest.approx(shown)
    assert heading(measure, "title", unit) == title
