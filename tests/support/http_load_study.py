"""Studies in which only the load matters: what becomes of it, or what is reported of it."""

from pathlib import Path
from typing import Any

from support.read_study import problems_of, read_study

COMMON = 'requests = ["/a", "/b"]\n'
CLOSED = f'model = "closed"\n{COMMON}connections = 2\nduration = "1s"\n'
OPEN = f'model = "open"\n{COMMON}connections = 2\nduration = "1s"\nrate = 100\n'
SESSIONS = f'model = "sessions"\n{COMMON}connection_rate = 100\nnum_connections = 5\ncalls = 4\n'
LOAD_LINE = 5
"""The line of the first key of the load."""


def study_file(folder: Path, load: str, sweep: str = "timeout = [1]") -> Path:
    path = folder / "s.toml"
    head = 'title = "x"\ncontent.a = 1\ncontent.b = 1\n[load]\n'
    path.write_text(f"{head}{load}\n[sweep]\n{sweep}\n[servers.nginx]\n", encoding="utf-8")
    return path


def problems_in(folder: Path, load: str, sweep: str = "timeout = [1]") -> list[str]:
    return problems_of(study_file(folder, load, sweep))


def load_of(folder: Path, load: str) -> Any:
    return read_study(study_file(folder, load)).arms["nginx"].load_at({"timeout": 1})
