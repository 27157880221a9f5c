"""What requests cost by a site's table of prices: the CPU time of a million, and nothing without a table."""

from pathlib import Path

import pytest

from loadcurve.analysis.publication import Publication, published_run
from loadcurve.cli.publish import check_command
from loadcurve.errors import BadInput
from loadcurve.report.site.build import build_site
from loadcurve.report.site.prices import Cost, Price, price_of, read_prices
from loadcurve.report.site.values import cell
from loadcurve.result.publication import PublishedRun, publish_run
from support import synthetic_run as synthetic

TABLE = """\
currency = "EUR"
date = 2026-11-01
source = "a page <of> prices"
[machines]
box-7 = 0.72
"""


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> PublishedRun:
    """The synthetic run as if its load had a fixed rate, on a machine of two CPUs."""
    synthetic.write_run(folder := tmp_path_factory.mktemp("published") / "run")
    run = published_run(folder, Publication(machine="Box 7"))
    machine = run.machine.model_dump() | {"cpus": 2}
    return PublishedRun.model_validate(
        run.model_dump() | {"machine": machine, "load": {**run.load, "model": "open"}}
    )


def page_of(run: PublishedRun, site: Path) -> str:
    return (site / run.place.replace(".json", ".html")).read_text()


def write_prices(site: Path, text: str = TABLE) -> None:
    site.mkdir(exist_ok=True)
    (site / "prices.toml").write_text(text)


def test_a_million_requests_cost_the_share_of_the_machine_that_their_cpu_time_is():
    # 0.36 an hour for each CPU is 0.0001 a second; a million requests of 50 us of CPU time are 50 s.
    price = Price("EUR", 0.72, 0.36, "2026-11-01", "a page")
    found = price.cost(Cost(50e-6, 40e-6, None))
    assert (found.value, found.low, found.high) == (pytest.approx(0.005), pytest.approx(0.004), None)
    assert price.cost(None) is None


def test_a_run_at_a_fixed_rate_has_a_column_and_a_chart_of_costs(rated: PublishedRun, tmp_path: Path):
    write_prices(tmp_path)
    publish_run(tmp_path, rated)
    build_site(tmp_path)
    page = page_of(rated, tmp_path)
    assert page.count('<button type="button">cost of a million requests, EUR</button>') == 1
    assert '<p class="measure">Cost of a million requests, EUR</p>' in page
    assert "Prices of 2026-11-01, from a page &lt;of&gt; prices." in page
    one = next(one for one in rated.points if "server_cpu_per_request_s" in one.figures)
    cpu_s = one.figures["server_cpu_per_request_s"].value
    shown, _, _ = cell(Cost(cpu_s * 1e6 * 0.36 / 3600, None, None), "", "")
    assert f">{shown} <span" in page


def test_nothing_is_said_of_costs_without_a_price_or_a_fixed_rate(rated: PublishedRun, tmp_path: Path):
    publish_run(tmp_path, rated)
    build_site(tmp_path)
    assert "cost of a million" not in page_of(rated, tmp_path)
    write_prices(tmp_path)
    prices = read_prices(tmp_path)
    closed = rated.model_copy(update={"load": {**rated.load, "model": "closed"}})
    elsewhere = rated.model_copy(update={"machine": rated.machine.model_copy(update={"slug": "box-8"})})
    of_unknown_size = rated.model_copy(update={"machine": rated.machine.model_copy(update={"cpus": None})})
    assert price_of(rated, prices) is not None
    assert [price_of(run, prices) for run in (closed, elsewhere, of_unknown_size)] == [None] * 3


def test_new_prices_write_the_pages_of_runs_anew(rated: PublishedRun, tmp_path: Path):
    publish_run(tmp_path, rated)
    build_site(tmp_path)
    write_prices(tmp_path)
    assert build_site(tmp_path).written == 1
    write_prices(tmp_path, TABLE.replace("0.72", "0.36"))
    assert build_site(tmp_path).written == 1
    assert build_site(tmp_path).written == 0


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (TABLE.replace("0.72", "0"), "prices.toml:5: machines.box-7: "),
        (TABLE.replace("0.72", "inf"), "prices.toml:5: machines.box-7: "),
        (TABLE.replace('"EUR"', '"euros"'), "prices.toml:1: currency: "),
        (TABLE.replace("date = 2026-11-01\n", ""), "date"),
        (TABLE.partition("[machines]")[0], "machines"),
    ],
)
def test_a_table_that_is_no_table_of_prices_is_refused_at_its_line(
    rated: PublishedRun, tmp_path: Path, found: str, said: str
):
    publish_run(tmp_path, rated)
    write_prices(tmp_path, found)
    with pytest.raises(BadInput) as refused:
        check_command(tmp_path)
    assert said in str(refused.value)
