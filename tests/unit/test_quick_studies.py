"""What `benches.quick_studies` makes of a run, by its exit code and its servers."""

import dataclasses
from collections.abc import Callable

import pytest
from benches.quick_studies import Tried

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.result.folder import read_run
from loadcurve.result.records import PointRecord
from support import synthetic_run as synthetic


@pytest.fixture
def analysis_where(tmp_path) -> Callable[..., Analysis]:
    """Return the analysis of a run in which one server has invalid points alone, or was not installed."""

    def made(*, invalid: str | None = None, missing: str | None = None) -> Analysis:
        record = synthetic.run_record()
        measured = [line for line in synthetic.trial_records(record) if line.server != missing]
        lines = [
            synthetic.spoiled(line) if isinstance(line, PointRecord) and line.server == invalid else line
            for line in measured
        ]
        analysis = analyse(read_run(synthetic.write_run(tmp_path / "run", record, lines)))
        if missing is None:
            return analysis
        servers = analysis.run.servers
        absent = dataclasses.replace(servers[missing], status="missing")
        facts = dataclasses.replace(analysis.run, servers={**servers, missing: absent})
        return dataclasses.replace(analysis, run=facts)

    return made


def tried(exit_code: int, *analyses: Analysis, missing: tuple[str, ...] = (), length_s: float = 20) -> Tried:
    return Tried("A-web", exit_code, length_s, list(analyses), [], list(missing))


def test_a_study_is_good_with_figures_of_every_server(analysis_where):
    assert tried(0, analysis_where()).is_good
    assert not tried(0, analysis_where(), length_s=121).is_good
    assert not tried(1, analysis_where()).is_good


def test_an_installed_server_without_a_usable_point_is_named_and_is_no_good(analysis_where):
    server = next(iter(synthetic.SERVERS))
    one = tried(3, analysis_where(invalid=server))
    assert (one.unusable, one.is_good) == ([server], False)


def test_a_server_that_is_not_installed_is_no_fault_of_the_study(analysis_where):
    server = next(iter(synthetic.SERVERS))
    one = tried(3, analysis_where(missing=server), missing=(server,))
    assert (one.unusable, one.is_good) == ([], True)


def test_nothing_measured_is_good_only_where_something_is_not_installed():
    assert tried(4, missing=("nginx",)).is_good
    assert not tried(4).is_good
