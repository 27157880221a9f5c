"""Limits on one request of a load that has several: in capacities, in the report, and before a search."""

import pytest

from loadcurve.analysis.shape import shapes
from loadcurve.errors import BadInput
from loadcurve.result.folder import Run, read_run
from loadcurve.runs.capacity import CapacitySearch, SearchOptions
from loadcurve.stats.slo import parse_objective
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from support import requests_run
from support import synthetic_run as synthetic

ECHO_MS = {1: 5.0, 50: 20.0, 200: 80.0}
"""The latency of ``POST /echo`` by connections: doubled where connections are four times as many."""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    records = [
        requests_run.record(
            server, connections, block, {"GET /json": 2.0, "GET /": 2.0, "POST /echo": echo_ms}
        )
        for block in range(requests_run.TRIALS)
        for server in requests_run.SERVERS
        for connections, echo_ms in ECHO_MS.items()
    ]
    return read_run(synthetic.write_run(tmp_path_factory.mktemp("limits") / "run", records=records))


def test_a_capacity_is_where_the_limit_of_the_one_request_is_crossed(run):
    [found] = shapes(run, parse_objective('p99 of "POST /echo" < 40ms, p99 of "GET /json" < 40ms'))
    # On a line over the load, of the logarithm: halfway between 20 and 80 ms, so halfway from 50 to 200.
    assert {shape.server: shape.capacity.load.value for shape in found.shapes} == pytest.approx(
        {"nginx": 125, "apache": 125}
    )


def test_a_request_that_the_run_has_not_is_refused_with_those_that_it_has(run):
    with pytest.raises(BadInput, match=r'expected one of "GET /json", "GET /", "POST /echo"'):
        shapes(run, parse_objective('p99 of "PUT /echo" < 40ms'))


def test_servers_lead_by_what_answers_the_question_of_all_requests(run):
    [found] = shapes(run, parse_objective('p99 of "POST /echo" < 40ms'))
    assert found.leading_measure == "throughput"


def test_a_search_refuses_a_request_that_its_study_does_not_send(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        'title = "t"\n[load]\nmodel = "closed"\nrequests = ["/a", "/b"]\nduration = "1s"\n'
        '[sweep]\nconnections = [1, 2]\n[servers.mine]\nurl = "http://127.0.0.1:9/"\n'
    )
    study = TomlDocument.read(path).to_model(Study)
    CapacitySearch(study, SearchOptions(parse_objective('p99 of "GET /b" < 1ms')))
    with pytest.raises(BadInput, match=r'--slo .*expected one of "GET /a", "GET /b"'):
        CapacitySearch(study, SearchOptions(parse_objective('p99 of "GET /c" < 1ms')))
