"""``loadcurve init``: a commented study for the servers that are installed here."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from loadcurve.cli.console import new_console
from loadcurve.errors import BadInput, refusal
from loadcurve.loads.kinds import DATABASE, WEB
from loadcurve.server.catalog import load_catalog
from loadcurve.server.check import CatalogRow, catalog_rows
from loadcurve.server.found import NATIVE_FOLDER
from loadcurve.study.estimate import estimated_duration_s
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from loadcurve.units import clock, plural

COMMENTS_AT = 28
"""The column where comments behind a line begin."""
HEAD = """\
# A study for `loadcurve run {name}`; with --quick it is shortened, for a first look.
# Lines that begin with # are comments: remove the # to use one.

title = "My study"
question = "Which server gives the most throughput, and what happens to its latency, as connections grow?"
# answer_by = "p99"         # the measure that answers it; here throughput is the default
# limits = "p99 < 10ms"     # or limits: the answer is up to which load each server keeps them

# What the servers serve: generated files, by name and size, or a folder with your own.
[content]
"1k.txt" = "1KiB"
# "hello.txt" = {{ text = "Hello, World!" }}
# folder = "site"           # instead of files by name

# A closed loop: each connection sends its next request when the previous one is answered.
[load]
model = "closed"
requests = ["/1k.txt"]
warmup = "0.5s"             # not measured
duration = "2s"             # measured, at each point
# pipeline = 4              # requests under way on each connection
# timeout = "5s"            # after which a request has failed

# Each value is one point of the curve. Any number of [load] can be swept.
[sweep]
connections = [1, 4, 16, 64, 256]

# A trial is one fresh start of one server, measured at all points.
# Intervals come from the spread between trials: more trials give narrower ones.
[trials]
count = 5
# until = "5 %"             # more trials, until intervals are this narrow; count = 8 at least

# By default the servers get half of the CPUs, and the load the other half.
# [host]
# server_cpus = [0]
# load_cpus = [1]

# The servers found on this machine. `loadcurve servers NAME` shows the settings of one.
# `limit` does the least work a server can do: compare the others with it.
[servers.limit]
"""

DATABASES = """
# Databases take another study, with model = "ycsb" under [load], such as the bundled study `databases`.
# Found here:
"""

TAIL = """
# The same server can be added again, with other settings and another name:
# [servers.python-http-1-0]
# use = "python-http"
# keepalive = false

# Your own program, started by Loadcurve for each trial:
# [servers.mine]
# use = "command"
# start = ["./server", "--port", "{port}", "--folder", "{content}"]
# version = "1.0"

# A server that is already running, here or elsewhere:
# [servers.running]
# use = "url"
# url = "http://127.0.0.1:8080"
"""


def init_command(file: Path, catalogs: Sequence[Path]) -> None:
    """Write a study for the servers that are installed here, and print its path.

    Raises ``BadInput``: the file is there already or cannot be written.
    """
    text = study_text(file.name, catalog_rows(load_catalog(catalogs)))
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise BadInput(
            f"{file} already exists and was not changed; name another file: loadcurve init OTHER.toml"
        ) from None
    except FileNotFoundError:
        raise BadInput(f"{file} cannot be written: there is no folder {file.parent}") from None
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {refusal(error)}") from None
    study = TomlDocument.read(file).to_model(Study)
    new_console().print(file, soft_wrap=True)
    for line in next_lines(study, file):
        new_console(stderr=True).print(line, soft_wrap=True)


def next_lines(study: Study, file: Path) -> list[str]:
    """Return how the study is run, shortened and whole, and about how long each takes."""
    command = f"loadcurve run {shlex.quote(str(file))}"
    lines = [f"{plural(len(study.servers), 'server')}; to measure them:"]
    for one, options, purpose in ((study.quick(), " --quick", ", for a first look"), (study, "", "")):
        about_s = estimated_duration_s(one, dict.fromkeys(one.arms, one.trials.count)) or 0
        lines.append(f"  {command}{options}  (about {clock(about_s)}{purpose})")
    return lines


def study_text(name: str, rows: Sequence[CatalogRow]) -> str:
    """Return the study: one table for each program that is installed, and the other servers as comments."""
    web = [row for row in rows if row.entry.description.kind is WEB and row.name != "limit"]
    databases = [row for row in rows if row.entry.description.kind is DATABASE and row.found]
    programs: dict[Path, CatalogRow] = {}
    others = []
    for row in sorted(web, key=_modules):
        if row.found is None:
            continue
        if row.found.binary.is_relative_to(NATIVE_FOLDER) or row.found.binary in programs:
            others.append(row)
        else:
            programs[row.found.binary] = row
    parts = [HEAD.format(name=name), *map(_table, sorted(programs.values(), key=_name))]
    missing = [row for row in web if row.found is None]
    for title, listed in {"Also installed": others, "Not installed": missing}.items():
        if listed:
            parts += [f"\n# {title}:\n", *map(_comment, sorted(listed, key=_name))]
    if databases:
        parts += [DATABASES, *(f"# {_table(row)}" for row in databases)]
    return "".join([*parts, TAIL])


def _modules(row: CatalogRow) -> tuple[int, str]:
    """Order the servers of one program: those without a module, whose version has one part, come first."""
    return len((row.version or "").split()), row.name


def _name(row: CatalogRow) -> str:
    return row.name


def _table(row: CatalogRow) -> str:
    return f"{f'[servers.{row.name}]':{COMMENTS_AT}}# {row.entry.description.title} {row.version}\n"


def _comment(row: CatalogRow) -> str:
    """Return the table of a server as a comment, with how it is installed where it is not."""
    install = f": {row.install}" if row.found is None and row.install else ""
    return f"# [servers.{row.name}]  # {row.entry.description.title}{install}\n"
