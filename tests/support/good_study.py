"""A study with nothing wrong in it, for tests to change."""

from pathlib import Path

from support.read_study import problems_of

GOOD = """\
title = "One file"
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
warmup = "500ms"
duration = "1s"
[sweep]
connections = [1, 10]
[trials]
count = 3
restart = "point"
[host]
server_cpus = [0]
load_cpus = [1]
[servers.nginx]
[servers.other]
use = "nginx"
workers = 2
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "s.toml"
    path.write_text(text, encoding="utf-8")
    return path


def problems_in(folder: Path, text: str) -> list[str]:
    return problems_of(write(folder, text))
