"""`loadcurve studies`: the bundled studies, and how long one takes."""

import pytest

from support.command import Command
from support.tiny_study import study_text


@pytest.fixture
def command(tmp_path):
    return Command(tmp_path)


def test_studies_are_listed_with_what_they_ask_and_one_is_read_without_a_run(command):
    listed = command.run("studies")
    assert listed.returncode == 0, listed.stderr
    assert "D-connections  What do persistent connections and pipelining gain" in listed.stdout
    checked = command.run("studies", "check", "E-rate")
    assert "Latency against rate on one connection" in checked.stdout
    # 50 rates of 62 s, and 1 s for the start of each of six servers: 15 h 30 min 18 s in three trials.
    assert "in full: 6 servers, 50 points, 3 trials of each; about 15:30:18" in checked.stdout
    refused = command.run("studies", "check", "E-rat")
    assert refused.returncode == 2
    assert 'did you mean "E-rate"?' in refused.stderr
    assert command.run("studies", "list").returncode == 2


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ("[servers.ngimx]", "ngimx"),
        ("[servers.limit]\nworkerz = 2", "workerz"),
        ('[servers.own]\nuse = "command"', "servers.own.start: missing"),
        ('[servers.own]\nuse = "command"\nstart = ["./own"]\nversion = "1"', "contains no {port}"),
        ('[servers.own]\nuse = "url"', "servers.own.url: missing"),
        ("[servers.limit]\ncpus = [4095]", "servers.limit.cpus"),
        ("[servers.postgresql]", "servers.postgresql: "),
    ],
)
def test_a_check_refuses_what_a_run_refuses_in_the_same_words(command, servers, said):
    (command.work / "study.toml").write_text(study_text(servers))
    checked, run = (command.run(*words, "study.toml") for words in (["studies", "check"], ["run"]))
    assert (checked.returncode, run.returncode) == (2, 2)
    assert checked.stderr == run.stderr
    assert said in checked.stderr


def test_a_check_refuses_a_request_for_a_file_that_the_content_lacks(command):
    (command.work / "site").mkdir()
    (command.work / "site" / "1k.txt").write_text("1k")
    text = study_text(content='folder = "site"').replace('requests = ["/1k.txt"]', 'requests = ["/2k.txt"]')
    (command.work / "study.toml").write_text(text)
    checked, run = (command.run(*words, "study.toml") for words in (["studies", "check"], ["run"]))
    assert (checked.returncode, run.returncode) == (2, 2)
    assert run.stderr.endswith(checked.stderr)
    assert 'found "/2k.txt"; expected the path of a file in ' in checked.stderr


def test_a_check_starts_nothing_and_accepts_servers_that_are_not_installed(command):
    text = study_text('[servers.own]\nuse = "command"\nstart = ["./none", "{port}"]\nversion = "1"')
    (command.work / "study.toml").write_text(text)
    assert command.run("studies", "check", "study.toml").returncode == 0


def test_a_bundled_study_is_copied_with_what_belongs_to_it_and_nothing_is_overwritten(command):
    copied = command.run("studies", "copy", "D-connections", "mine/D")
    assert copied.returncode == 0, copied.stderr
    made = {path.name for path in (command.work / "mine" / "D").iterdir()}
    assert made == {"README.md", "claims.toml", "published.toml", "study.toml"}
    assert "in full: 6 servers" in command.run("studies", "check", "mine/D").stdout
    refused = command.run("studies", "copy", "D-connections", "mine/D")
    assert refused.returncode == 2
    assert "mine/D already exists and is not overwritten" in refused.stderr
    assert command.run("studies", "copy", "quickstart").returncode == 0
    assert (command.work / "quickstart.toml").is_file()
    unknown = command.run("studies", "copy", "E-rat")
    assert unknown.returncode == 2
    assert "there is no bundled study of this name" in unknown.stderr
    assert 'did you mean "E-rate"?' in unknown.stderr
