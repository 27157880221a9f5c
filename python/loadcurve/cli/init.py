"""``loadcurve init``: a commented study for the servers that are installed here."""

import json
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loadcurve.cli.console import new_console
from loadcurve.cli.init_path import path_answered
from loadcurve.errors import BadInput, refusal
from loadcurve.loads.kinds import DATABASE, WEB
from loadcurve.server.catalog import load_catalog
from loadcurve.server.check import CatalogRow, catalog_rows
from loadcurve.server.description import SOCKET_PLACE
from loadcurve.server.environment_beside import program_beside
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import NATIVE_FOLDER
from loadcurve.server.privileges import user_of_server
from loadcurve.server.reach import reachable_program, require_reachable
from loadcurve.server.revision import revision_of
from loadcurve.server.settings import unknown_name
from loadcurve.study.estimate import estimated_duration_s
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from loadcurve.units import clock, plural

DEFAULT_FILE = Path("study.toml")
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

"""

FOUND_HERE = """\
# The servers found on this machine. `loadcurve servers NAME` shows the settings of one.
# `limit` does the least work a server can do: compare the others with it.
[servers.limit]
"""
CALLS = """
# Servers of messages take another study, with messages = "grpc" for example (docs/guides/messages.md).
# Found here:
"""
DATABASES = """
# Databases take another study, with model = "ycsb" under [load], such as the bundled study `databases`.
# Found here:
"""

AGAIN = """
# The same server can be added again, with other settings and another name:
# [servers.python-http-1-0]
# use = "python-http"
# keepalive = false
"""
RUNNING = """
# A server that is already running, here or elsewhere:
# [servers.running]
# use = "url"
# url = "http://127.0.0.1:8080"
"""
TAIL = f"""{AGAIN}
# Your own program, started by Loadcurve for each trial:
# [servers.mine]
# use = "command"
# start = ["./server", "--port", "{{port}}", "--folder", "{{content}}"]
# version = "1.0"
{RUNNING}"""


OWN_HEAD = """\
# A study for `loadcurve run {name}`; with --quick it is shortened, for a first look.
# Lines that begin with # are comments: remove the # to use one.

title = "My application"
question = "How many requests/s does it answer, and what happens to its latency, as connections grow?"
# limits = "p99 < 100ms"    # the answer is up to which load they hold

# A closed loop: each connection sends its next request when the previous one is answered.
[load]
model = "closed"
{requests}# several are sent in turn; each must answer with status 200
# requests = [              # or a mix, with figures of each
#     {{ path = "/", weight = 3 }},
#     {post},
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

"""
OWN_TABLE = """\
# Started for each trial, in the folder of this file, with a free port. It must stay in the foreground.
[servers.mine]
"""
BESIDE = """\

# Your own application is asked for paths of its own, whose answers need the status 200 alone.
"""
POST = (
    """{ path = "/orders", method = "POST", body = '{"item": 17}', """
    'headers = { Content-Type = "application/json" } }'
)
AS_ROOT = 'user = "root"'
VERSION_INSTEAD = '# version = "1.2"           # in place of the revision of its Git repository\n'
OWN_VERSION = 'version = "1"               # for the report; in a Git repository it is the revision\n'
OWN_KEYS = """\
# ready = "/health"         # asked until it answers; without it, the first of the requests
# cwd = "app"               # another folder to start it in
# environment = { MODE = "production", DATABASE_URL = { env = "DATABASE_URL" } }
"""
OWN_TAIL = """
# The same application with another setting, or another version, is a second curve:
# [servers.more-workers]
# start = "…"
"""


_VARIABLES = re.compile(r"""\s*([A-Za-z_]\w*)=((?:'[^']*'|"[^"]*"|[^\s'"])*)\s+""")
"""A variable in front of a program, as a shell sets it."""
_NAME_IN_BRACES = re.compile(r"\{([A-Za-z_]\w*)\}")
"""A placeholder; of several programs, which a command does not have, one would name its program, too."""


@dataclass(frozen=True)
class OwnApplication:
    """An application that a study is written for, and what is known of it here."""

    command: str
    paths: Sequence[str] = ("/",)
    has_revision: bool = False
    stays_root: str | None = None
    """Why it can run here as root alone, who asks for the study."""


@dataclass(frozen=True)
class InitGiven:
    """What a person asks of ``init``: servers of the catalogue, an own command, or both."""

    command: str | None = None
    paths: Sequence[str] = ()
    only: Sequence[str] = ()


def init_command(file: Path, catalogs: Sequence[Path], given: InitGiven | None = None) -> None:
    """Write a study, and print its path: for servers that are installed here, an own command, or both.

    Raises ``BadInput``: the command has no ``{port}``, a server is not here, or the file is there already or
    cannot be written.
    """
    given = given or InitGiven()
    _require_new(file)
    own = None if given.command is None else _own_application(given, catalogs, file)
    if own is not None and not given.only:
        text = own_study_text(file.name, own)
    else:
        rows = catalog_rows(load_catalog(catalogs))
        text = chosen_text(file.name, rows, given.only, own) if given.only else study_text(file.name, rows)
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {refusal(error)}") from None
    study = TomlDocument.read(file).to_model(Study)
    new_console().print(file, soft_wrap=True)
    if own is not None and own.stays_root is not None:
        new_console(stderr=True).print(f"it runs as root: {own.stays_root} ({AS_ROOT})", soft_wrap=True)
    for line in next_lines(study, file):
        new_console(stderr=True).print(line, soft_wrap=True)


def _require_new(file: Path) -> None:
    """Raise ``BadInput`` where a file is there already, or its folder is not: before anything is started."""
    if file.exists() or file.is_symlink():
        raise BadInput(
            f"{file} already exists and was not changed; name another file: loadcurve init OTHER.toml"
        )
    if not file.parent.is_dir():
        raise BadInput(f"{file} cannot be written: there is no folder {file.parent}")


def _own_application(given: InitGiven, catalogs: Sequence[Path], file: Path) -> OwnApplication:
    folder = file.absolute().parent
    command = _by_environment(given.command or "", folder)
    own = OwnApplication(
        command,
        given.paths or ("/",),
        has_revision=revision_of(folder) is not None,
        stays_root=_why_root(command, folder),
    )
    if given.paths:
        return own
    path = path_answered(own_study_text(file.name, own), file, catalogs, _again(given, catalogs, file))
    return replace(own, paths=(path,))


def _again(given: InitGiven, catalogs: Sequence[Path], file: Path) -> str:
    """Return the command that the person gave."""
    words = ["loadcurve", "init", *([] if file == DEFAULT_FILE else [str(file)])]
    words += [word for name in given.only for word in ("--only", name)]
    words += [word for folder in catalogs for word in ("--catalog", str(folder))]
    return f"{shlex.join(words)} --command {_quoted(given.command or '')}"


def _quoted(command: str) -> str:
    """Return a command as one word of a shell, within the quotes that it does not have itself."""
    is_plain = "'" in command and not re.search(r'["$`\\!]', command)
    return f'"{command}"' if is_plain else shlex.quote(command)


def own_study_text(name: str, own: OwnApplication) -> str:
    """Return the study of one own application; raises ``BadInput`` as :func:`own_table` does."""
    requests = f"requests = [{', '.join(map(_toml, own.paths))}]"
    head = OWN_HEAD.format(name=name, requests=f"{requests:{COMMENTS_AT - 1}} ", post=POST)
    return "".join([head, own_table(own), OWN_TAIL])


def own_table(own: OwnApplication) -> str:
    """Return the table of an own application, which a command starts.

    Variables in front of the program, as in ``PORT={port} node server.js``, are its environment. Its version
    is that of its folder, if this has a revision. Raises ``BadInput``: it has no ``{port}``, nor
    ``{socket}``.
    """
    if "{port}" not in own.command and f"{{{SOCKET_PLACE}}}" not in own.command:
        raise BadInput(
            f"--command {shlex.quote(own.command)} contains no {{port}}: Loadcurve gives the application a "
            "free port at each start, so write {port} in place of its number, such as "
            '"gunicorn app:app -b 127.0.0.1:{port}" or, where it takes the port from its environment, '
            '"PORT={port} node server.js"; or {socket} for a Unix socket'
        )
    variables, program = _divided(own.command)
    lines = [f"start = {_toml(program)}\n"]
    lines += map(_in_turn, _settings_of(program))
    if variables:
        set_to = ", ".join(f"{variable} = {_toml(value)}" for variable, value in variables.items())
        lines.append(f"environment = {{ {set_to} }}\n")
    if own.stays_root is not None:
        lines.append(f"{AS_ROOT:{COMMENTS_AT}}# {own.stays_root}\n")
    return "".join([OWN_TABLE, *lines, VERSION_INSTEAD if own.has_revision else OWN_VERSION, OWN_KEYS])


def _settings_of(program: str) -> list[str]:
    """Return the names in braces that nothing but the study can give a value, in their order."""
    known = load_catalog()["command"].description.start_names | {SOCKET_PLACE}
    return [name for name in dict.fromkeys(_NAME_IN_BRACES.findall(program)) if name not in known]


def _in_turn(name: str) -> str:
    return f"{f'{name} = [1, 2, 4]':{COMMENTS_AT}}# a curve for each; put your values here\n"


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _divided(command: str) -> tuple[dict[str, str], str]:
    """Return the variables in front of a program, and the command without them."""
    variables: dict[str, str] = {}
    while found := _VARIABLES.match(command):
        variables[found[1]] = "".join(shlex.split(found[2]))
        command = command[found.end() :]
    return variables, command


def _by_environment(command: str, folder: Path) -> str:
    """Return a command by the program that an environment in the folder has of its name, where one has it.

    It has the packages of the application, whether or not it is activated when the study is run.
    """
    program = _divided(command)[1]
    name, _, rest = program.partition(" ")
    beside = None if "/" in name or not name else program_beside(folder, name)
    if beside is None:
        return command
    new_console(stderr=True).print(
        f"it is started by {beside}, which has the packages of the environment here", soft_wrap=True
    )
    return f"{command.removesuffix(program)}{beside} {rest}".rstrip()


def _why_root(command: str, folder: Path) -> str | None:
    """Return why a program cannot be started here as the user that root's servers become; else ``None``."""
    user = user_of_server(None, None)
    if user is None:
        return None
    words = _divided(command)[1].split()
    named = (folder / words[0] if "/" in words[0] else shutil.which(words[0])) if words else None
    try:
        require_reachable("", user, folder)
        if named is not None and Path(named).is_file():
            reachable_program("", user, Path(named), [], folder)
    except (ServerFailure, OSError):
        return f"the user {user.name}, which servers of root become, cannot run it where it lies"
    return None


def next_lines(study: Study, file: Path) -> list[str]:
    """Return how the study is run, shortened and whole, and about how long each takes."""
    command = f"loadcurve run {shlex.quote(str(file))}"
    lines = [f"{plural(len(study.servers), 'server')}; to measure them:"]
    for one, options, purpose in ((study.quick(), " --quick", ", for a first look"), (study, "", "")):
        about_s = estimated_duration_s(one, dict.fromkeys(one.arms, one.trials.count)) or 0
        lines.append(f"  {command}{options}  (about {clock(about_s)}{purpose})")
    return lines


def chosen_text(
    name: str, rows: Sequence[CatalogRow], only: Sequence[str], own: OwnApplication | None = None
) -> str:
    """Return the study of these servers alone, or of them and an own application.

    Raises ``BadInput``: one of them cannot be measured, or the command is not one (:func:`own_table`).
    """
    known = {row.name: row for row in rows if _serves_files(row)}
    for one in only:
        if one not in known:
            raise BadInput(unknown_name(f"--only {one}: no such server for a study of files", one, known))
        if known[one].found is None:
            row = known[one]
            install = f"; {row.install}" if row.install else ""
            raise BadInput(f"--only {one}: it cannot be measured here: {row.problem or row.status}{install}")
    chosen = [known[one] for one in dict.fromkeys(only)]
    tables = [HEAD.format(name=name), *map(_table, chosen)]
    if own is None:
        return "".join([*tables, TAIL])
    requests = f"requests = [{', '.join(map(_toml, own.paths))}]\n"
    own_load = f'\n[servers.mine.load]\n{requests}verify = "status"\n'
    return "".join([*tables, BESIDE, own_table(own), own_load, AGAIN, RUNNING])


def _serves_files(row: CatalogRow) -> bool:
    """Say whether it is a web server of files: one that is ready in another way answers messages."""
    description = row.entry.description
    return description.kind is WEB and description.may_serve_files


def study_text(name: str, rows: Sequence[CatalogRow]) -> str:
    """Return the study: one table for each program that is installed, and the other servers as comments."""
    web = [row for row in rows if _serves_files(row) and row.name != "limit"]
    calls = [
        row for row in rows if row.entry.description.kind is WEB and not _serves_files(row) and row.found
    ]
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
    parts = [HEAD.format(name=name), FOUND_HERE, *map(_table, sorted(programs.values(), key=_name))]
    missing = [row for row in web if row.found is None]
    for title, listed in {"Also installed": others, "Not installed": missing}.items():
        if listed:
            parts += [f"\n# {title}:\n", *map(_comment, sorted(listed, key=_name))]
    if calls:
        parts += [CALLS, *(f"# {_table(row)}" for row in calls)]
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
