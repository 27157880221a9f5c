"""Findings in the terminal and on the page."""

import pytest

from loadcurve.explain.all import FINDINGS
from loadcurve.explain.finding import Evidence, Finding
from loadcurve.report.findings import MOST_FINDINGS, figure, findings_text, grouped, points, where
from loadcurve.result.run_files import TRIALS_FILE
from support import synthetic_run as synthetic
from support import terminal
from support.findings import finding
from support.report_pages import render_report

CPU_LIMIT = finding(200, 1000)


def printed(findings: list[Finding]) -> str:
    return terminal.printed(findings_text(findings))


def test_a_finding_says_where_it_was_seen_and_in_how_many_trials():
    assert where(CPU_LIMIT) == "connections = 200 and 1,000, in 3 of 5 trials"


def test_settings_that_are_the_same_at_all_points_have_no_range():
    assert points([{"rate": 10, "calls": 1}, {"rate": 20, "calls": 1}]) == "rate = 10 and 20, calls = 1"
    assert points([{}]) == "the only point"


def test_a_span_of_points_is_one_of_neighbours_in_the_sweep():
    sweep = [{"rate": 500 * step} for step in range(1, 56)]
    seen = [sweep[0], sweep[9], sweep[19], sweep[54]]
    assert points([sweep[0], sweep[54]], sweep) == "rate = 500 and 27,500"
    assert points(seen, sweep) == "rate = 500 to 27,500 (4 of 55 values)"
    assert points(sweep[1:9], sweep) == "rate = 1,000 to 4,500"
    assert points(seen) == "rate = 500 to 27,500 (4 values)", "without the sweep, others may lie between"


@pytest.mark.parametrize(
    ("evidence", "shown"),
    [
        (Evidence(name="x", value=28, unit=""), "28"),
        (Evidence(name="x", value=0.125, unit="share"), "12.5 %"),
        (Evidence(name="x", value=2, unit="ms", low=1, high=3.5, spread="range"), "2 (1 to 3.50) ms"),
        (Evidence(name="x", value=2, unit="KiB", low=1, high=3, spread="interval"), "2 [1, 3] KiB"),
    ],
)
def test_evidence_has_its_unit_and_tells_a_range_from_an_interval(evidence: Evidence, shown: str):
    assert figure(evidence) == shown


def test_the_terminal_tells_a_likely_cause_from_a_shown_one_within_80_columns():
    long = "It waited " + "and waited " * 30
    text = printed([CPU_LIMIT, finding(1, certainty="shown", seen=long, server="[red]x[/red]")])
    assert "Likely cause: The server is at the limit" in text
    assert "\n  Cause: The server is at the limit" in text
    assert "[red]x[/red]" in text


def test_more_causes_than_a_terminal_holds_are_counted():
    codes = [*FINDINGS][: MOST_FINDINGS + 3]
    assert "in the report: 3 more, their evidence, and what to do\n" in printed(
        [finding(1, code=code) for code in codes]
    )


def test_ten_sightings_of_one_cause_are_one_line():
    servers = [f"s{number}" for number in range(10)]
    [group] = grouped([finding(10 * place, server=name) for place, name in enumerate(servers, start=1)])
    assert group.title == FINDINGS["cpu_limit"].title
    assert group.seen_of == "s0, s1, s2, s3 and 6 more, connections = 10 to 100 (10 values), 10 findings"


def test_a_shown_cause_and_a_likely_one_are_two_groups_in_the_order_of_the_findings():
    likely, shown = finding(1), finding(2, certainty="shown")
    other = finding(3, code="one_thread")
    groups = grouped([likely, other, shown, likely])
    assert [(group.code, group.places) for group in groups] == [
        ("cpu_limit", [0, 3]),
        ("one_thread", [1]),
        ("cpu_limit", [2]),
    ]


def test_in_the_terminal_a_finding_is_what_was_seen_and_why_and_the_report_has_the_rest():
    text = printed([CPU_LIMIT])
    assert "The server used 1.95 of the 2 CPUs" in text
    assert "Likely cause: The server is at the limit" in text
    assert "CPU of the server 1.95 CPUs" not in text
    assert "To do" not in text
    assert "in the report: their evidence, and what to do" in text


def test_without_a_finding_nothing_is_said():
    assert printed([]).strip() == ""


def test_the_page_shows_each_finding_of_the_run_with_its_evidence(tmp_path):
    folder = synthetic.write_run(tmp_path)
    trials = folder / TRIALS_FILE
    one_process = trials.read_text().replace('"processes":{"min":3,"max":4}', '"processes":{"min":1,"max":1}')
    trials.write_text(one_process)
    page = render_report(folder)
    # The synthetic servers take 1/8 MiB for each connection, and that of one process is its own.
    assert "Findings</h2>" in page
    assert "memory grows with the connections: 128" in page
    assert "memory per connection" in page


def test_a_page_without_findings_has_no_such_section(tmp_path):
    assert "Findings</h2>" not in render_report(synthetic.write_run(tmp_path, records=[]))


def test_what_the_machine_did_is_one_line_of_the_run_and_says_what_it_limits():
    limit = "Differences below 8 % in throughput may not be detected in this run."
    seen = [finding(at, server=name, code="steal", seen="It waited.") for at in (1, 5, 25) for name in "ab"]
    [machine, server] = grouped([*seen, CPU_LIMIT], limit)
    assert (machine.seen, len(machine.findings)) == (f"a: It waited. {limit}", 6)
    assert machine.seen_of == "a and b, connections = 1, 5 and 25, 6 findings"
    assert server.seen == CPU_LIMIT.seen


def test_where_causes_differ_the_terminal_says_whose_it_shows():
    text = printed([finding(1, server="a", cause="It closes."), finding(1, server="b", cause="It keeps.")])
    assert "Likely cause (of a): It closes." in text
