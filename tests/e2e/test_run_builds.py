"""Servers that the command builds before it measures or checks them."""

import signal

import pytest

from support.sandbox import finish, wait_until
from support.tiny_study import study_text, write_built_server

WITH_CATALOG = ("--catalog", "catalog")


def run_study(sandbox, servers):
    # A load that ends when its requests are answered, however busy the machine is.
    study = study_text(servers, load="requests_total = 20", connections="[1]", trials=1)
    sandbox.write("tiny.toml", study)
    return sandbox.run(
        "run", "tiny.toml", "--out", f"run-{len(list(sandbox.work.glob('run-*')))}", *WITH_CATALOG
    )


def test_a_study_builds_its_server_once_for_all_its_variants_and_all_runs(sandbox):
    builds = write_built_server(sandbox.work / "catalog", "own")
    first = run_study(sandbox, '[servers.own]\n[servers.own-again]\nuse = "own"')
    assert first.returncode == 0, first.stderr
    assert first.stderr.count("building own …") == 1
    second = run_study(sandbox, "[servers.own]")
    assert second.returncode == 0, second.stderr
    assert "building" not in second.stderr
    assert builds.read_text() == "built\n"


def test_a_server_that_cannot_be_built_is_reported_and_the_others_are_measured(sandbox):
    write_built_server(sandbox.work / "catalog", "own", "echo 'a semicolon is missing'; exit 1")
    finished = run_study(sandbox, '[servers.limit]\n[servers.own]\n[servers.own-again]\nuse = "own"')
    assert finished.returncode == 3, finished.stderr
    assert finished.stderr.count("building own …") == 1
    assert "own is not measured: own could not be built" in finished.stderr
    assert "own-again is not measured: own could not be built" in finished.stderr
    assert "    a semicolon is missing" in finished.stderr


def test_a_mistake_in_the_study_is_reported_before_anything_is_built(sandbox):
    builds = write_built_server(sandbox.work / "catalog", "own")
    finished = run_study(sandbox, "[servers.own]\n[servers.limti]")
    assert finished.returncode == 2
    assert not builds.exists()


def test_a_check_builds_the_server_first(sandbox):
    write_built_server(sandbox.work / "catalog", "own")
    assert "not built" in sandbox.run("servers", "own", *WITH_CATALOG).stdout
    finished = sandbox.run("servers", "check", "own", *WITH_CATALOG)
    assert (finished.returncode, finished.stderr) == (0, "building own …\n")
    assert "no process left, port free, folder gone" in finished.stdout
    assert "found" in sandbox.run("servers", "own", *WITH_CATALOG).stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_is_ended_and_what_it_left_is_not_used(number, sandbox):
    mended = sandbox.folder / "mended"
    half_built = f'echo half > "$1/server"; chmod +x "$1/server"; [ -e \'{mended}\' ] || sleep 1000'
    builds = write_built_server(sandbox.work / "catalog", "own", half_built)
    process = sandbox.start("servers", "check", "own", *WITH_CATALOG)
    wait_until(lambda: any((sandbox.folder / "cache").rglob("server")), "the build is under way")
    process.send_signal(number)
    assert finish(process).returncode == 130
    wait_until(lambda: sandbox.processes() == [], "nothing of the build runs on")
    mended.touch()
    finished = sandbox.run("servers", "check", "own", *WITH_CATALOG)
    assert finished.returncode == 0, finished.stderr
    assert builds.read_text() == "built\nbuilt\n"
