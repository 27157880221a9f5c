"""`loadcurve run`: real servers that are started anew, for each trial or for each point."""

import json

import pytest

from support.tiny_study import STAYS_OURS, study_text

NGINX = "exec {binary} -p {private} -c {private}/nginx.conf -g 'daemon off;'"
APACHE = "exec {binary} -d {private} -f {private}/httpd.conf -DFOREGROUND"
STARTS = {"nginx": NGINX, "apache-event": APACHE}
"""The start of each server, as the catalogue has it."""

POINTS, TRIALS = 3, 2


@pytest.mark.parametrize(
    ("name", "restart", "starts"),
    [
        pytest.param("nginx", "sweep", TRIALS, marks=pytest.mark.needs("nginx")),
        pytest.param("apache-event", "point", TRIALS * POINTS, marks=pytest.mark.needs("apache2")),
        pytest.param("nginx", "point", TRIALS * POINTS, marks=[pytest.mark.needs("nginx"), pytest.mark.long]),
        pytest.param("apache-event", "sweep", TRIALS, marks=[pytest.mark.needs("apache2"), pytest.mark.long]),
    ],
)
def test_each_start_is_a_new_process_in_a_new_folder_with_empty_logs(name, restart, starts, sandbox):
    # Each start notes its process, its folder and what the logs hold, and goes on as the server itself.
    noting = 'echo $$ $PWD $(cat *.log | wc -c) >> "{study}/starts"'
    servers = f"""
    [servers.{name}]
    {STAYS_OURS}
    start = ["sh", "-c", '''{noting}; {STARTS[name]}''']
    version = "as installed"
    access_log = true
    """
    sandbox.write("starts", "")
    sandbox.write("tiny.toml", study_text(servers, connections="[1, 2, 3]", trials=TRIALS, restart=restart))
    finished = sandbox.run("run", "tiny.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    records = [json.loads(line) for line in (sandbox.work / "run/trials.jsonl").read_text().splitlines()]
    assert [record["kind"] for record in records] == ["point"] * TRIALS * POINTS
    noted = [line.split() for line in (sandbox.work / "starts").read_text().splitlines()]
    # One more start is that before the first trial.
    assert len(noted) == 1 + starts
    pids, folders, log_bytes = (set(column) for column in zip(*noted, strict=True))
    assert len(pids) == len(folders) == 1 + starts
    assert log_bytes == {"0"}
    # Where a start serves all points, they share its address; each start is given any port that is free.
    addresses = {(record["trial"], record["measurements"]["load"]["load"]["address"]) for record in records}
    assert len(addresses) == TRIALS if restart == "sweep" else TRIALS <= len(addresses) <= starts
