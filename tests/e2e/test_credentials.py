"""Credentials show nowhere: the short form of ``python -m benches.credentials``."""

import base64
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from benches.credentials import SIGN, shown, shown_in_files, tried


@pytest.fixture
def given():
    """A folder for studies, in which a program that root starts as another user may work."""
    with tempfile.TemporaryDirectory(prefix="loadcurve-given-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


# It takes a minute; the campaign against credentials does the same with more of them.
@pytest.mark.long
def test_no_credential_shows_in_what_commands_write_or_in_a_list_of_processes(sandbox, given):
    def command(words, variables):
        return sandbox.run(*words, **variables)

    def python(words, variables):
        return subprocess.run(
            [sys.executable, *words],
            cwd=sandbox.work,
            env=sandbox.environment(**variables),
            capture_output=True,
            text=True,
            check=False,
        )

    outcome = tried(16, 2, given, sandbox.folder, command=command, python=python)
    assert outcome.found == []
    assert outcome.missed == []
    assert outcome.looks > 1


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
def test_a_credential_is_seen_as_it_is_and_in_base64(tmp_path, before):
    plain = f"{before}{SIGN}abc"
    encoded = base64.b64encode(plain.encode())
    assert shown("here", b"..." + encoded + b"...")[0].startswith("here: ")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file").write_text(plain)
    assert len(shown_in_files(tmp_path)) == 1
    (tmp_path / "below" / "file").rename(tmp_path / "below" / SIGN)
    assert len(shown_in_files(tmp_path)) == 1
