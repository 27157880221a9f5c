"""The study that a search makes of the URL of a server that runs already."""

import tomllib
from pathlib import Path

import pytest

from loadcurve.cli.capacity import capacity_command
from loadcurve.errors import BadInput
from loadcurve.runs.study import RunOptions
from loadcurve.study.model import Study
from loadcurve.study.of_url import is_web_url, study_of_url
from loadcurve.toml.document import TomlDocument


@pytest.mark.parametrize(
    ("url", "name", "path"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1-8080", "/"),
        ("https://example.test/search?q=a%20b", "example.test", "/search?q=a%20b"),
        ("http://[::1]:80/x", "1-80", "/x"),
    ],
)
def test_a_study_of_a_url_is_a_study_that_asks_its_server_for_its_path(tmp_path: Path, url, name, path):
    file = tmp_path / "of-url.toml"
    file.write_text(study_of_url(url, "p99 < 10ms, errors < 0.1 %"))
    study = TomlDocument.read(file).to_model(Study)
    [(server, table)] = study.servers.items()
    assert (server, study.load.requests) == (name, [path])
    assert url.startswith(table.url or "none")
    assert tomllib.loads(file.read_text())["limits"] == "p99 < 10ms, errors < 0.1 %"


def test_the_study_searches_between_the_ends_that_were_asked_for():
    sweep = tomllib.loads(study_of_url("http://h/", "p99 < 1s", 50, 2e6))["sweep"]
    assert sweep == {"rate": [50, 2_000_000]}
    assert tomllib.loads(study_of_url("http://h/", "p99 < 1s"))["sweep"] == {"rate": [100, 100_000]}


def test_a_server_that_names_no_version_has_an_unknown_one():
    unknown = tomllib.loads(study_of_url("http://h/", "p99 < 1s", names_its_version=False))
    assert unknown["servers"]["h"]["version"] == "unknown"
    assert "version" not in tomllib.loads(study_of_url("http://h/", "p99 < 1s"))["servers"]["h"]


def test_a_path_cannot_add_keys_to_the_study():
    text = study_of_url('http://h/"]\nmodel = "closed', "p99 < 1s")
    assert tomllib.loads(text)["load"]["model"] == "open"


@pytest.mark.parametrize("argument", ["study.toml", "quickstart", "postgresql://h/db", "http+unix://s"])
def test_what_is_no_url_of_a_web_server_is_a_study_or_refused_as_one(argument):
    assert not is_web_url(argument)


def test_a_url_without_limits_or_with_a_user_is_refused_without_its_password():
    with pytest.raises(BadInput, match=r"--slo: missing; of a URL"):
        capacity_command("http://127.0.0.1:9/", None, None, None, None, RunOptions())
    with pytest.raises(BadInput) as refused:
        capacity_command("http://me:geheim@h/", "p99 < 1s", None, None, None, RunOptions())
    assert "geheim" not in str(refused.value)
