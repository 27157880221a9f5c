"""The tutorial: its commands run as written, on a real server, with shorter loads and fewer points."""

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.sandbox import LOADCURVE, Sandbox, wait_until

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
SHORTER = {
    "-d 5s": "-d 200ms",
    'warmup = "0.5s"': 'warmup = "50ms"',
    'duration = "2s"': 'duration = "100ms"',
    "connections = [1, 4, 16, 64]": "connections = [1, 4]",
}
MEASURED = {0, 3}
"""Exit codes of what was measured: so short a load may be invalid, but the command did what the text says."""
TIMEOUT_S = 180


def blocks() -> list[tuple[str, str]]:
    """The fenced blocks of the tutorial in their order, shortened, each with its language."""
    text = TUTORIAL.read_text(encoding="utf-8")
    for there, instead in SHORTER.items():
        assert there in text
        text = text.replace(there, instead)
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def is_answering(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def in_another_terminal(block: str, sandbox: Sandbox, port: int) -> Iterator[None]:
    """Run the lines of a block; the last one is a server, which runs until the end."""
    *before, server = block.splitlines()
    for line in before:
        subprocess.run(["sh", "-c", line], cwd=sandbox.work, check=True)
    process = subprocess.Popen(
        ["sh", "-c", f"exec {server}"], cwd=sandbox.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: is_answering(port), "the server of the tutorial answers")
        yield
    finally:
        process.terminate()
        process.wait()


def with_run_folders(line: str, sandbox: Sandbox) -> str:
    """Write the newest run folders where the tutorial has RUN, BEFORE and AFTER."""
    folders = sorted(
        (sandbox.work / "loadcurve-runs").glob("*"), key=lambda folder: folder.stat().st_mtime_ns
    )
    *_, before, after = [None, None, *(folder.name for folder in folders)]
    for name, folder in {"RUN": after, "BEFORE": before, "AFTER": after}.items():
        line = line.replace(f"loadcurve-runs/{name}", f"loadcurve-runs/{folder}")
    return line


@pytest.mark.long
def test_every_command_of_the_tutorial_does_what_the_text_says(sandbox: Sandbox):
    port = free_port()
    (_, server), *others = [(language, text.replace("8080", str(port))) for language, text in blocks()]
    environment = sandbox.environment(BROWSER="true") | {
        "PATH": f"{LOADCURVE.parent}:/usr/bin:/bin:/usr/sbin:/sbin"
    }
    printed = []
    with in_another_terminal(server, sandbox, port):
        for language, text in others:
            if language == "toml":
                (sandbox.work / "mine.toml").write_text(text, encoding="utf-8")
                continue
            for line in text.splitlines():
                command = ["sh", "-c", with_run_folders(line, sandbox)]
                ended = subprocess.run(
                    command,
                    cwd=sandbox.work,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=TIMEOUT_S,
                    check=False,
                )
                assert ended.returncode in MEASURED, f"{line}: {ended.stderr}"
                printed.append(f"{line}\n{ended.stdout}")
    assert len(printed) == 8
    assert all("requests/s" in said or "requests" in said for said in printed[:2])
    assert any("Answer" in said for said in printed)
    assert "persistent" in printed[-1]
