"""``loadcurve init``: a commented study for the servers that are installed here."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from loadcurve.cli.console import new_console
from loadcurve.errors import BadInput, refusal
from loadcurve.loads.kinds import DATABASE, WEB
from loadcurve.server.catalog import load_catalog
from loadcurve.server.check import CatalogRow, catalog_rows
from loadcurve.server.description import SOCKET_PLACE
from loadcurve.server.found import NATIVE_FOLDER
from loadcurve.server.revision import revision_of
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


OWN_HEAD = """\
# A study for `loadcurve run {name}`; with --quick it is shortened, for a first look.
# Lines that begin with # are comments: remove the # to use one.

title = "My application"
question = "How many requests/s does it answer, and what happens to its latency, as connections grow?"
# limits = "p99 < 100ms"    # the answer is up to which load they hold

# A closed loop: each connection sends its next request when the previous one is answered.
[load]
model = "closed"
requests = ["/"]            # several are sent in turn; each must answer with status 200
# requests = [              # or a mix, with figures of each
#     {{ path = "/", weight = 3 }},
#     {{ path = "/orders", method = "POST", body = '{{"item": 17}}', expect = {{ status = 201 }} }},
# ]
warmup = "0.5s"             # not measured
duration = "2s"             # measured, at each point
# headers = {{ Authorization = {{ env = "TOKEN" }} }}

# Each value is one point of the curve. Any number of [load] can be swept.
# What `start` names in braces, too: workers = [1, 2, 4] for "… --workers {{workers}}" is a curve of each.
[sweep]
connections = [1, 4, 16, 64]

# A trial is one fresh start of the application, measured at all points.
[trials]
count = 5

# Started for each trial, in the folder of this file, with a free port. It must stay in the foreground.
[servers.mine]
"""
VERSION_INSTEAD = '# version = "1.2"           # in place of the revision of its Git repository\n'
OWN_VERSION = 'version = "1"               # for the report; in a Git repository it is the revision\n'
OWN_TAIL = """\
# ready = "/health"         # asked until it answers; without it, the first of the requests
# cwd = "app"               # another folder to start it in
# environment = { MODE = "production", DATABASE_URL = { env = "DATABASE_URL" } }

# The same application with another setting, or another version, is a second curve:
# [servers.more-workers]
# start = "…"
"""


def init_command(file: Path, catalogs: Sequence[Path], command: str | None = None) -> None:
    """Write a study, and print its path: for the servers that are installed here, or for one own command.

    Raises ``BadInput``: the command has no ``{port}``, or the file is there already or cannot be written.
    """
    if command is None:
        text = study_text(file.name, catalog_rows(load_catalog(catalogs)))
    else:
        text = own_study_text(
            file.name, command, has_revision=revision_of(file.absolute().parent) is not None
        )
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


def own_study_text(name: str, command: str, *, has_revision: bool) -> str:
    """Return the study of one own application, which this command starts.

    Its version is that of its folder, if this has a revision. Raises ``BadInput``: it has no ``{port}``,
    nor ``{socket}``.
    """
    if "{port}" not in command and f"{{{SOCKET_PLACE}}}" not in command:
        raise BadInput(
            f"--command {shlex.quote(command)} contains no {{port}}: Loadcurve gives the application a free "
            "port at each start, so write {port} in place of its number, such as "
            '"gunicorn app:app -b 127.0.0.1:{port}", or {socket} for a Unix socket'
        )
    start = f"start = {json.dumps(command, ensure_ascii=False)}\n"
    version = VERSION_INSTEAD if has_revision else OWN_VERSION
    return "".join([OWN_HEAD.format(name=name), start, version, OWN_TAIL])


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
