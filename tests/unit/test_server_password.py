"""Passwords of databases that are kept apart from their URLs."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.redaction import hidden, study_without_secrets
from loadcurve.runs.study_servers import _url
from loadcurve.server.catalog import load_catalog
from loadcurve.server.found import FoundServer, find_server
from loadcurve.server.launch import Launch
from loadcurve.server.password import with_password
from loadcurve.server.settings import UnusableSetting
from loadcurve.study.tables import StudyServer

SECRET = "p@ss:w/o?r#d %41"
ENCODED = "p%40ss%3Aw%2Fo%3Fr%23d%20%2541"
"""Each character that RFC 3986 reserves, as its code; that of "%" is 25."""


@pytest.mark.parametrize(
    ("url", "together"),
    [
        ("postgresql://joe@db:5432/app?x=1@2", f"postgresql://joe:{ENCODED}@db:5432/app?x=1@2"),
        ("mongodb://joe@one:1,two:2", f"mongodb://joe:{ENCODED}@one:1,two:2"),
        ("mongodb+srv://j%40e@cluster.example/", f"mongodb+srv://j%40e:{ENCODED}@cluster.example/"),
        ("postgresql://joe@[::1]:5432#x", f"postgresql://joe:{ENCODED}@[::1]:5432#x"),
    ],
)
def test_a_password_is_encoded_behind_the_user_and_remembered(url: str, together: str):
    assert with_password(url, SECRET) == together
    assert hidden(f"no access with {SECRET} or {ENCODED}") == "no access with (hidden) or (hidden)"


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql://db/app", "has no user; expected the password's user before the host, as in USER@HOST"),
        ("postgresql://joe:other-secret@db/app", "already contains a password"),
        ("http://127.0.0.1:8080", "passwords are for databases"),
    ],
)
def test_a_url_without_a_place_for_it_is_refused_and_repeats_no_password(url: str, problem: str):
    with pytest.raises(BadInput, match=problem) as refusal:
        with_password(url, SECRET)
    assert SECRET not in str(refusal.value)
    assert "other-secret" not in str(refusal.value)


def server(folder: Path, **keys: object) -> StudyServer:
    return StudyServer.model_validate({"use": "url", **keys}, context={"folder": folder})


def test_a_study_takes_it_from_a_file_or_the_environment_and_records_have_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "secret").write_text(f"{SECRET}\n", encoding="utf-8")
    (tmp_path / "secret").chmod(0o600)
    monkeypatch.setenv("DATABASE_SECRET", SECRET)
    for source in ({"file": "secret"}, {"env": "DATABASE_SECRET"}):
        found = server(tmp_path, url="postgresql://joe@db/app", password=source)
        assert _url(found) == f"postgresql://joe:{ENCODED}@db/app"
        assert found.model_dump(mode="json")["password"] == source
        assert SECRET not in repr(found)


def test_the_password_that_a_started_server_gets_is_hidden_in_what_it_says():
    found = find_server(load_catalog()["limit"], {})
    assert isinstance(found, FoundServer)
    password = Launch(found, 1)._password
    assert hidden(f"no role with {password}") == "no role with (hidden)"


def test_a_password_without_the_url_of_a_database_is_refused_at_its_key(tmp_path: Path):
    for keys in ({}, {"url": "postgresql://db/app"}):
        with pytest.raises(UnusableSetting) as refusal:
            _url(server(tmp_path, password=SECRET, **keys))
        assert refusal.value.setting == "password"


def test_one_that_stands_in_a_study_is_hidden_where_the_study_is_kept():
    kept = study_without_secrets(f'[servers.db]\nuse = "url"\npassword = "{SECRET}"\n')
    assert kept == '[servers.db]\nuse = "url"\npassword = "(hidden)"\n'
