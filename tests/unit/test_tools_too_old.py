"""A tool that lacks an option with which it is driven is refused before any load."""

from dataclasses import replace
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.tools.catalog import tool_named


@pytest.mark.parametrize(
    ("shown", "too_old", "oldest"),
    [("k6 v{} (commit/0, go1.24)", "1.2.3", "1.3.0"), ("oha {}", "1.10.0", "1.11.0")],
)
def test_one_that_lacks_an_option_is_refused_with_the_version_that_has_it(
    shown: str, too_old: str, oldest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    name = shown.split(maxsplit=1)[0]
    program = tmp_path / name
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def installed(version: str) -> Path:
        program.write_text(f"#!/bin/sh\necho '{shown.format(version)}'\n")
        program.chmod(0o755)
        # The version of a tool is looked up once.
        return replace(tool_named(name)).require_installed()

    assert installed(oldest) == program
    assert installed("2.0.1") == program
    with pytest.raises(BadInput) as refused:
        installed(too_old)
    assert f"is {name} {too_old}; expected {oldest} or newer; " in str(refused.value)
