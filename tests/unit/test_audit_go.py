"""A hole that a Go program of the catalogue reaches fails the audit unless an exception gives a reason."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "packaging" / "audit_go.py"
LEFT_OPEN = ("GO-2026-4394", "GO-2026-5970")
FAKE = """#!/bin/sh
echo "$@" > arguments
cat findings
"""


def finding(number: str, *, reached: bool = True) -> dict:
    """What govulncheck prints of a hole, whose function a program can reach or has not."""
    place = {"module": "example.org/m", "version": "v1", "package": "example.org/m/p"}
    return {"finding": {"osv": number, "trace": [place | {"function": "Break"} if reached else place]}}


def audit(folder: Path, *findings: dict) -> subprocess.CompletedProcess[str]:
    """Audit a module of which govulncheck prints these findings."""
    fake = folder / "govulncheck"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    (folder / "server.toml").write_text('build = ["go", "build", "-trimpath", "-tags=a,b", "."]\n')
    messages = [{"config": {"scanner_name": "govulncheck"}}, *findings]
    (folder / "findings").write_text("\n".join(json.dumps(one, indent=2) for one in messages) + "\n")
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "GOVULNCHECK_OPTIONS": "-db file:///db"}
    return subprocess.run(
        [sys.executable, SCRIPT, folder], env=environment, capture_output=True, text=True, check=False
    )


def test_a_hole_that_is_reached_fails_the_audit_by_its_number(tmp_path: Path):
    done = audit(tmp_path, finding("GO-2099-0001"))
    assert done.returncode == 1
    assert "GO-2099-0001: example.org/m/p.Break is reached" in done.stdout


def test_a_hole_that_is_not_reached_is_none(tmp_path: Path):
    assert audit(tmp_path, finding("GO-2099-0001", reached=False)).returncode == 0


def test_an_exception_gives_its_reason_and_is_named_when_it_is_not_needed(tmp_path: Path):
    done = audit(tmp_path, finding(LEFT_OPEN[0]))
    assert done.returncode == 0
    first, second = done.stdout.splitlines()
    assert first.startswith(f"{LEFT_OPEN[0]}: left open: ")
    assert second == f"{LEFT_OPEN[1]}: the exception is not needed"


def test_the_program_is_audited_as_it_is_built(tmp_path: Path):
    audit(tmp_path)
    assert (tmp_path / "arguments").read_text() == "-format json -db file:///db -tags=a,b ./...\n"


def test_without_its_tool_the_audit_says_how_to_get_it(tmp_path: Path):
    nothing = {"PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, SCRIPT], env=nothing, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "go install golang.org/x/vuln/cmd/govulncheck@latest" in done.stderr
