"""The tables that JMeter's Aggregate Report and Summary Report save, with invented numbers.

Their form follows JMeter's source: samples, times in whole ms, errors as a share, and a rate per second.
"""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

AGGREGATE = (Path(__file__).parents[1] / "data" / "tools" / "made" / "jmeter-report.csv").read_text()
SUMMARY = """Label,# Samples,Average,Min,Max,Std. Dev.,Error %,Throughput,Received KB/sec,Avg. Bytes
page,5,20,10,30,7.20,0.00%,2.50000,4.00,1638.4
TOTAL,5,20,10,30,7.20,0.00%,2.50000,4.00,1638.4
"""


@pytest.fixture
def of(tmp_path: Path):
    def read(text: str) -> ToolFigures:
        (tmp_path / "report.csv").write_text(text)
        assert format_of(Source(tmp_path / "report.csv"), None).name == "jmeter-report"
        return read_figures(Source(tmp_path / "report.csv"), None)[0]

    return read


def test_the_line_of_all_has_the_counts_and_its_rate_the_time(of):
    found = of(AGGREGATE)
    # 0.1 % of 2,000 samples are two errors, which took 2,000 / 10 s.
    assert (found.answered, found.failed, found.duration_s) == (1998, 2, 200.0)
    assert found.latency is None
    assert found.not_measured == ["latencies of answers: JMeter's summary has those of failures among them"]


def test_names_without_errors_have_their_times(of):
    first, search = of(AGGREGATE).operations
    assert (first.operation, first.answered, first.failed) == ("first page", 1200, 0)
    latency = first.latency_ms
    assert (latency.min, latency.mean, latency.max) == (12.0, 41.0, 305.0)
    assert (latency.p50, latency.p90, latency.p95, latency.p99) == (38.0, 60.0, 72.0, 110.0)
    assert (search.operation, search.answered, search.failed) == ("search, by name", 798, 2)
    assert search.latency_ms.p50 is None


def test_the_summary_report_has_a_mean_and_extremes_and_divides_by_the_number_of_samples(of):
    found = of(SUMMARY)
    assert (found.answered, found.failed, found.duration_s) == (5, 0, 2.0)
    assert found.latency is not None
    assert found.latency.completeness == "summary"
    latency = found.latency.distribution
    assert (latency.min, latency.mean, latency.max, latency.p50) == (10.0, 20.0, 30.0, None)
    assert latency.stddev == pytest.approx(7.2 * (5 / 4) ** 0.5)


@pytest.mark.parametrize(("separator", "quote"), [(",", '"'), (";", ""), ("\t", "")])
def test_numbers_have_the_decimal_sign_of_the_language(of, separator: str, quote: str):
    def numbers(fields: list[str]) -> str:
        return separator.join(f"{quote}{one.replace('.', ',')}{quote}" for one in fields)

    names, *rows = (line.split(",") for line in SUMMARY.replace("2.50000", ".25000").splitlines())
    found = of("\n".join([separator.join(names), *map(numbers, rows)]))
    assert (found.answered, found.failed, found.duration_s) == (5, 0, 20.0)


def test_the_plugin_that_makes_the_table_of_a_file_calls_its_columns_by_keys(of):
    keys = (
        "sampler_label,aggregate_report_count,average,aggregate_report_median,aggregate_report_90%_line,"
        "aggregate_report_95%_line,aggregate_report_99%_line,aggregate_report_min,aggregate_report_max,"
        "aggregate_report_error%,aggregate_report_rate,aggregate_report_bandwidth,aggregate_report_stddev"
    )

    def table(count: int, rate: str) -> str:
        rest = f"{count},30,28,41,50,61,9,70,0.00%,{rate},2.5,8.00"
        return f"{keys}\npage,{rest}\nTOTAL,{rest}\n"

    found = of(table(40, "1.4"))
    assert (found.answered, found.failed) == (40, 0)
    assert found.duration_s == pytest.approx(40 / 1.4)
    assert found.latency is not None
    assert (found.latency.distribution.p50, found.latency.distribution.p90) == (28.0, 41.0)
    with pytest.raises(BadInput, match=r"line 3: found a rate of 0\.4/s, in steps of 0\.1/s; expected one"):
        of(table(4, "0.4"))


def test_where_a_share_of_errors_may_be_of_several_numbers_it_is_said(of):
    head = AGGREGATE.split("\n")[0]
    found = of(
        f"{head}\npage,1000000,9,8,12,15,30,2,90,0.000%,500.00000,1.00,1.00\n"
        "TOTAL,1000000,9,8,12,15,30,2,90,0.000%,500.00000,1.00,1.00\n"
    )
    # 0.0005 % of a million are five.
    assert (found.failed, found.latency) == (0, None)
    assert found.notes[1].text == "it has errors as a share, so their number may be off by 5"
    several = "".join(f"page {one},50000,9,8,12,15,30,2,90,0.000%,25.00000,1.00,1.00\n" for one in range(20))
    found = of(f"{head}\n{several}TOTAL,1000000,9,8,12,15,30,2,90,0.000%,500.00000,1.00,1.00\n")
    assert found.latency is not None
    assert (found.latency.distribution.p99, len(found.notes)) == (30.0, 1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("TOTAL,2000", "other,2000", "line 4: found 'other' as the last line; expected that of all samples"),
        (
            "TOTAL,2000",
            "TOTAL,1999",
            "line 4: found 1,999 samples of all, and 2,000 by name; expected",
        ),
        (
            "page,1200",
            "page,many",
            r"line 2: found # Samples = 'many'; expected a number, in a line",
        ),
        ("page,1200,", "page,1200,,", "line 2: found 14 columns; expected the 13 that have names"),
        ("0.100%", "101%", "line 4: found Error % = '101%'; expected 100% at most"),
        ("0.100%", "0.500%", "line 4: found 10 errors of all, and 2 by name; expected the same of both"),
        ("10.00000", "0", "line 4: found 2,000 samples at 0/s; expected the samples of a load"),
        ("Throughput", "Rate", "line 1: found no column Throughput, or two; expected the names"),
    ],
)
def test_a_table_that_jmeter_cannot_have_saved_is_refused_with_its_line(of, old: str, new: str, said: str):
    assert old in AGGREGATE
    with pytest.raises(BadInput, match=said):
        of(AGGREGATE.replace(old, new))


def test_tables_of_two_loads_are_refused(of):
    with pytest.raises(BadInput, match="line 5: found names of columns once more; expected the table of one"):
        of(AGGREGATE * 2)
