"""What puzzled authors of published studies comes about in bundled ones, and a finding names its cause."""

import shutil

import pytest

from loadcurve.explain.all import findings
from loadcurve.explain.finding import Finding
from loadcurve.host.cgroups import ControlGroup, Limits, LimitsUnavailable
from loadcurve.result.folder import read_run

pytestmark = [pytest.mark.long, pytest.mark.alone]

needs_apache = pytest.mark.skipif(
    not any(map(shutil.which, ("apache2", "httpd"))), reason="needs Apache, which these studies measure"
)


@pytest.fixture
def found(sandbox):
    """Return what runs one arm of a bundled study in its short form, and returns the findings by code."""

    def by_code(study: str, arm: str) -> dict[str, Finding]:
        finished = sandbox.run("run", study, "--quick", "--only", arm, "--out", "run")
        assert finished.returncode in {0, 3}, finished.stderr
        return {finding.code: finding for finding in findings(read_run(sandbox.work / "run"))}

    return by_code


def test_connections_take_whole_seconds_because_a_short_listen_queue_overflows(found):
    finding = found("D-connections", "simple-short-queue")["listen_queue_overflow"]
    assert finding.certainty == "shown"
    assert "(backlog 5)" in finding.cause


@needs_apache
def test_a_server_forks_where_the_authors_saw_a_dip(found):
    changed = found("C-servers", "apache-prefork")["processes_changed"]
    assert {13.0, 15.0, 18.0} & {point["connections"] for point in changed.points}


@needs_apache
def test_identical_trials_disagree_where_credits_go_on_from_trial_to_trial(found):
    group = ControlGroup.planned("loadcurve-test-probe", Limits(cpus=1.0))
    try:
        group.make()
    except LimitsUnavailable as unavailable:
        pytest.skip(str(unavailable))
    group.remove()
    ran_out = found("A-credits", "left-running")["cpu_credits"]
    assert 2 in ran_out.trials
    assert 0 not in ran_out.trials
    assert "otherwise identical disagree" in ran_out.cause
