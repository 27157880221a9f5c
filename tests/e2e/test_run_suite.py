"""`loadcurve run` of a suite on real servers: interrupted, resumed, and published as one site."""

import signal

from loadcurve.result.folder import read_run
from loadcurve.result.run_files import TRIALS_FILE
from support.sandbox import finish, wait_until
from support.tiny_study import study_text


def test_an_interrupted_suite_is_resumed_where_it_was_and_published_as_one_site(sandbox):
    sandbox.write("mine/one.toml", study_text("[servers.limit]\n[servers.persistent]"))
    sandbox.write("mine/two.toml", study_text("[servers.limit]", connections="[1]"))
    sandbox.write("mine/suite.toml", 'title = "Mine"\nstudies = ["one", "two"]\n')
    process = sandbox.start("run", "mine", "--out", "out", "--seed", 7)
    trials = sandbox.work / "out" / "one" / TRIALS_FILE
    wait_until(lambda: trials.exists() and trials.read_bytes().count(b"\n") >= 1, "a first point")
    process.send_signal(signal.SIGINT)
    interrupted = finish(process)
    assert interrupted.returncode == 130, interrupted.stderr
    assert "run mine/suite.toml --resume out" in interrupted.stderr
    assert not (sandbox.work / "out" / "two").exists()

    resumed = sandbox.run("run", "mine", "--resume", "out")
    assert resumed.returncode in (0, 3), resumed.stderr
    assert "Mine: 2 of 2 studies measured" in resumed.stderr
    points = {name: len(read_run(sandbox.work / "out" / name).points) for name in ("one", "two")}
    # Servers by connections by trials.
    assert points == {"one": 2 * 2 * 2, "two": 1 * 1 * 2}

    published = sandbox.run("publish", "out", "--to", "site")
    assert published.returncode == 0, published.stderr
    checked = sandbox.run("publish", "--check", "--to", "site")
    assert checked.returncode == 0, checked.stderr
    assert len(list((sandbox.work / "site").glob("*/results/*/*.json"))) == 2
    assert sandbox.leftovers() == []
