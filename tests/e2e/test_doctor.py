"""`loadcurve doctor`."""

import json


def test_the_doctor_says_what_was_found_why_it_matters_and_what_mends_it(sandbox):
    finished = sandbox.run("doctor", "--no-ceiling", "--connection-rate", "1000000000")
    # A rate that no range of ports holds is a caution, not a reason against measuring.
    assert finished.returncode in {0, 3}
    for topic in ("CPUs", "frequency", "steal", "clock", "open files", "ports", "listen queue", "io_uring"):
        assert f" {topic}: " in finished.stdout
    assert "$ sysctl -w net.ipv4.ip_local_port_range" in finished.stdout
    assert "servers: " in finished.stdout
    # What is missing comes with the command that installs it; nobody has all of these.
    assert "other load generators: " in finished.stdout
    assert any(
        command in finished.stdout for command in ("$ apt-get install", "$ go install", "$ cargo install")
    )
    assert max(map(len, finished.stdout.splitlines())) <= 80


def test_the_doctor_speaks_json_and_fails_only_where_something_is_bad(sandbox):
    finished = sandbox.run("doctor", "--no-ceiling", "--json")
    said = json.loads(finished.stdout)
    assert said["format"] == "loadcurve-doctor/1"
    assert said["ceiling"] is None
    assert {check["fitness"] for check in said["checks"]} <= {"good", "caution", "bad", "unknown"}
    bad = any(check["fitness"] == "bad" for check in said["checks"])
    assert finished.returncode == (3 if bad else 0)


def test_the_noise_of_an_unknown_server_is_refused_at_once(sandbox):
    finished = sandbox.run("doctor", "--noise", "--noise-server", "ngix")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "--noise-server ngix: not in the catalogue" in finished.stderr
    assert 'did you mean "nginx"?' in finished.stderr
