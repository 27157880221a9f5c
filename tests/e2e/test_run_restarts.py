"""`loadcurve run`: real servers that are started anew, for each trial or for each point."""

import json

import pytest

from support.tiny_study import study_text

NGINX = "exec {binary} -p {private} -c {private}/nginx.conf -g 'daemon off;'"
APACHE = "exec {binary} -d {private} -f {private}/httpd.conf -DFOREGROUND"
STARTS = {"nginx": ("nginx", NGINX), "apache-event": ("apache2", APACHE)}
"""The program and the start of each server, as the catalogue has it."""

POINTS, TRIALS = 3, 2


@pytest.mark.parametrize(("restart", "starts"), [("sweep", TRIALS), ("point", TRIALS * POINTS)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs(program)) for name, (program, _) in STARTS.items()]
)
def test_each_start_is_a_new_process_in_a_new_folder_with_empty_logs(name, restart, starts, sandbox):
    # Each start notes its process, its folder and what the logs hold, and goes on as the server itself.
    noting = 'echo $$ $PWD $(cat *.log | wc -c) >> "{study}/starts"'
    servers = f"""
    [servers.{name}]
    start = ["sh", "-c", '''{noting}; {STARTS[name][1]}''']
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
    addresses = {(record["trial"], record["load"]["load"]["address"]) for record in records}
    assert len(addresses) == TRIALS if restart == "sweep" else TRIALS <= len(addresses) <= starts
