"""Whether generated credentials show anywhere: in a file, on stdout or stderr, in a list of processes.

A quarter of them each are header fields, variables of a server that prints its environment, passwords in
URLs of databases, and passwords that a database repeats when it refuses them, through the real driver. A few
more are bodies and header fields of two loads at once; those of loads that other tools are to send, of
all that Loadcurve drives, which write down their arguments and their environment and repeat a credential;
what the Python API is given; and the login of a collector of metrics. They are in the study, in the
environment or in a file. A few real commands are run with all of them; meanwhile the command line of every
process is read again and again, and afterwards all that the commands have written.

    python -m benches.credentials [--count 1000] [--seed 1]
"""

import argparse
import base64
import json
import os
import random
import re
import shlex
import socket
import string
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from loadcurve.loads import kinds
from loadcurve.loads.ycsb import DatabaseLoad, DatabaseLoadTable
from loadcurve.tools.catalog import Tool, driven_tools
from loadcurve.tools.driver import DatabaseToolRequest
from loadcurve.tools.table import Abilities

Command = Callable[[Sequence[str], dict[str, str]], subprocess.CompletedProcess[str]]
"""Runs loadcurve, or another program, with arguments and further variables of the environment."""

SIGN = "Zq7xKw3Vn"
"""Is in each piece of every credential, and nowhere else."""
SIGNS = (SIGN, *(base64.b64encode(b"." * shift + SIGN.encode())[4:-4].decode() for shift in range(3)))
"""The sign, and what each text in Base64 has that holds it, at whatever place."""
RAW = "/?#@:%&= "
HEADERS_OF_AN_ARM = 20
HEADERS = ("Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "X-Anything")
POLL_S = 0.02
CLOSED_PORT = 9


@dataclass
class Credentials:
    """Generated credentials, and where those are that no study holds."""

    folder: Path
    seed: int
    variables: dict[str, str] = field(default_factory=dict)
    """What is in the environment of the commands."""
    count: int = 0

    def __post_init__(self) -> None:
        """Begin the sequence that the seed gives."""
        self._random = random.Random(self.seed)  # noqa: S311 - to be repeated

    def one(self) -> str:
        """Return a new one: three pieces, with characters between them that mean something in URLs."""
        self.count += 1
        pieces = [SIGN + "".join(self._random.choices(string.ascii_letters, k=6)) for _ in range(3)]
        return "".join(piece + self._random.choice(RAW) for piece in pieces)[:-1]

    def from_elsewhere(self, number: int) -> dict[str, str]:
        """Return where a new one is, as a study says it: in the environment or in a file."""
        secret, name = self.one(), f"GIVEN_{self.count}"
        if number % 2:
            self.variables[name] = secret
            return {"env": name}
        return {"file": str(self.in_file(name, secret))}

    def given(self, number: int) -> object:
        """Return a new one as a study gives it: as it is, or by where it is."""
        return self.one() if number % 3 == 0 else self.from_elsewhere(number)

    def in_file(self, name: str, text: str) -> Path:
        """Write a file that only its owner may read."""
        file = self.folder / name
        file.write_text(text, encoding="utf-8")
        file.chmod(0o600)
        return file


WEB = """\
title = "Credentials" # Authorization: Bearer {comment}
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
connections = 1
warmup = "0s"
duration = "50ms"
[sweep]
pipeline = [1]
[trials]
count = 1
"""

TALKATIVE = """\
[servers.talkative]
use = "command"
start = ["sh", "-c", "env; env >&2; exit 1", "{port}"]
version = "1"
"""

TWO_LOADS = """\
title = "Two loads" # Cookie: {comment}
[content]
"1k.txt" = "1KiB"
{loads}
[sweep]
left.pipeline = [1]
[trials]
count = 1
[servers.one]
use = "limit"
load = "left"
[servers.other]
use = "limit"
load = "right"
"""

ONE_OF_TWO = """\
[loads.{name}]
model = "closed"
requests = ["/1k.txt"]
connections = 1
warmup = "0s"
duration = "50ms"
verify = "status"
headers = {headers}
body = {body}
"""

DRIVEN = """\
title = "Other tools"
[content]
"1k.txt" = "1KiB"
[load]
model = {model}
requests = ["/1k.txt"]
warmup = "0s"
{load}
[sweep]
{sweep} = [1]
[trials]
count = 1
"""

OF_MODELS = {
    "closed": ("connections", 'duration = "1s"'),
    "open": ("rate", 'connections = 1\nduration = "1s"'),
    "sessions": ("connection_rate", "calls = 1\nnum_connections = 2"),
}
"""What each model sweeps, and what else its table says."""

REPEATING_TOOL = """\
#!/bin/sh
{{ tr '\\0' '\\n' < /proc/$$/cmdline; env; }} > {written}/{tool}-$$
echo "the server's token" {token} "is not mine" >&2
exit 1
"""
"""A tool that writes down what it is given, and repeats a credential."""

API = """\
import json, sys
import loadcurve
from loadcurve.errors import LoadcurveError
with open(sys.argv[1]) as calls:
    for name, argument, options in json.load(calls):
        try:
            print(getattr(loadcurve, name)(argument, **options))
        except LoadcurveError as error:
            print(error)
"""
"""A program that calls the Python API as a file says."""

DATABASES = """\
title = "Databases"
[load]
model = "ycsb"
workload = "a"
records = 10
duration = "1s"
[sweep]
threads = [1]
[trials]
count = 1
"""


def in_toml(value: object) -> str:
    """Write a text or a table of texts in TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {in_toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def table(name: str, use: str, **keys: object) -> str:
    """Write the table of a server."""
    lines = [f"{key} = {in_toml(value)}" for key, value in {"use": use, **keys}.items()]
    return "\n".join([f"[servers.{name}]", *lines, ""])


def web_study(credentials: Credentials, count: int) -> str:
    """Return a study with ``count`` secret headers in its arms, and as many variables of a server."""
    arms = [WEB.format(comment=credentials.one())]
    for first in range(0, count, HEADERS_OF_AN_ARM):
        headers = {}
        for number in range(first, min(count, first + HEADERS_OF_AN_ARM)):
            name = HEADERS[number % len(HEADERS)]
            headers[name if name not in headers else f"{name}-{number}"] = credentials.given(number)
        arms.append(f'[servers.arm-{first}]\nuse = "limit"\nload.headers = {in_toml(headers)}\n')
    variables = {f"API_TOKEN_{number}": credentials.given(number) for number in range(count)}
    return "\n".join([*arms, f"{TALKATIVE}environment = {in_toml(variables)}\n"])


def study_of_two_loads(credentials: Credentials) -> str:
    """Return a study of two loads, both with secret headers and a body."""
    loads = []
    for number, name in enumerate(("left", "right")):
        headers = {header: credentials.given(place + number) for place, header in enumerate(HEADERS)}
        body = in_toml(credentials.one())
        loads.append(ONE_OF_TWO.format(name=name, headers=in_toml(headers), body=body))
    return TWO_LOADS.format(comment=credentials.one(), loads="\n".join(loads))


def abilities(tool: Tool) -> Abilities:
    """Return what a tool that can be driven can do."""
    assert tool.table.can is not None, "it is driven"
    return tool.table.can


def driven_study(tools: Sequence[Tool], **load: object) -> str:
    """Return a study whose load is sent by each of these tools of one model, to a server of its own."""
    model = abilities(tools[0]).models[0]
    sweep, more = OF_MODELS[model]
    study = DRIVEN.format(model=in_toml(model), sweep=sweep, load=more)
    servers = []
    for tool in tools:
        of_tool = {"generator": tool.name, "http": abilities(tool).http[0], **load}
        environment = {"API_TOKEN": {"env": "REPEATED"}}
        servers.append(table(f"under-{tool.name}", "limit", load=of_tool, environment=environment))
    return "\n".join([study, *servers])


def driven_studies(credentials: Credentials) -> dict[str, str]:
    """Return a study of all tools of each model, and one for each that would have a secret header field."""
    tools = driven_tools(kinds.WEB).values()
    studies = {}
    for model in OF_MODELS:
        studies[f"driven-{model}"] = driven_study([one for one in tools if abilities(one).models[0] == model])
    for tool in tools:
        studies[f"secretive-{tool.name}"] = driven_study([tool], headers={"Cookie": credentials.one()})
    return studies


def shown_on_databases(credentials: Credentials) -> list[str]:
    """Return where the words for tools for databases show a credential; these start only beside one."""
    given = {"model": "ycsb", "workload": "c", "threads": 1, "operations": 100, "warmup": "0s"}
    load = DatabaseLoadTable.model_validate(given).with_values({}, DatabaseLoad).asking()
    found = []
    for name, tool in driven_tools(kinds.DATABASE).items():
        for scheme in ("postgresql", "mongodb"):
            url = f"{scheme}://me:{quote(credentials.one(), safe='')}@127.0.0.1:{CLOSED_PORT}/app"
            files = credentials.folder / f"{name}-{scheme}"
            files.mkdir()
            wanted = DatabaseToolRequest(load=load, url=url, threads=1, files=files)
            found += shown(f"{name} on {scheme}", "\n".join(tool.driver.arguments(wanted)).encode())
            found += [f"{file} is open to others" for file in files.iterdir() if file.stat().st_mode & 0o077]
    return found


def repeating_tools(credentials: Credentials, written: Path) -> Path:
    """Return a folder with a program for each tool, which writes into ``written`` what it is given."""
    folder = credentials.folder / "programs"
    folder.mkdir()
    for name, tool in driven_tools(kinds.WEB).items():
        program = folder / tool.table.programs[0]
        text = REPEATING_TOOL.format(
            written=shlex.quote(str(written)), tool=name, token=shlex.quote(credentials.variables["REPEATED"])
        )
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)
    return folder


def calls_of_api(credentials: Credentials, port: int) -> list[tuple[str, str, dict[str, object]]]:
    """Return calls of the Python API, with credentials in all that may hold one."""
    # What is there answers no HTTP, so that the load continues and comes to nothing.
    web = f"http://127.0.0.1:{port}/"
    database = f"postgresql://me:{quote(credentials.one(), safe='')}@127.0.0.1:{port}/app?sslmode=disable"
    return [
        (
            "load",
            web,
            {
                "header": [f"Authorization: Bearer {credentials.one()}"],
                "method": "POST",
                "body": credentials.one(),
                "duration": "2500ms",
                "otlp": f"http://me:{quote(credentials.one(), safe='')}@127.0.0.1:{CLOSED_PORT}",
            },
        ),
        ("load", database, {"workload": "a"}),
    ]


def database_study(credentials: Credentials, absent: int, repeating: int, port: int) -> str:
    """Return a study of databases that are absent, and of others that repeat the password that they get."""
    servers = []
    for kind, count, place in (("url", absent, CLOSED_PORT), ("driver", repeating, port)):
        for number in range(count):
            name, address = f"{kind}-{number}", f"127.0.0.1:{place}/app?sslmode=disable"
            if number % 3 == 0:
                user = f"me:{quote(credentials.one(), safe='')}"
                servers.append(table(name, "url", url=f"postgresql://{user}@{address}"))
            elif number % 3 == 1:
                option = f"password={quote(credentials.one(), safe='')}"
                servers.append(table(name, "url", url=f"postgresql://{address}&user=me&{option}"))
            else:
                password = credentials.from_elsewhere(number)
                servers.append(table(name, "url", url=f"postgresql://me@{address}", password=password))
    return "\n".join([DATABASES, *servers])


def refused_study(credentials: Credentials, count: int) -> str:
    """Return a study of databases whose URLs have passwords that were not encoded."""
    schemes = ("mongodb", "postgresql", "mongodb+srv")
    urls = [f"{schemes[number % 3]}://me:{credentials.one()}/@@127.0.0.1:9/app" for number in range(count)]
    return "\n".join([DATABASES, *(table(f"raw-{n}", "url", url=url) for n, url in enumerate(urls))])


@contextmanager
def repeating_database() -> Iterator[int]:
    """Serve PostgreSQL's protocol as far as to ask for a password and to repeat it; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_refuse_all, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def _refuse_all(listener: socket.socket) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client, suppress(OSError):
            client.settimeout(10)
            client.recv(4096)
            client.sendall(b"R" + (8).to_bytes(4) + (3).to_bytes(4))
            password = client.recv(4096)[5:].rstrip(b"\0")
            said = b"SFATAL\0VFATAL\0C28P01\0Mthe password " + password + b" is not mine\0\0"
            client.sendall(b"E" + (len(said) + 4).to_bytes(4) + said)


class CommandLines:
    """Reads the command lines of all processes until the block ends, and keeps those with a credential."""

    def __enter__(self) -> "CommandLines":
        """Begin."""
        self.found: set[str] = set()
        self.looks = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look_on)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, after one more look."""
        self._end.set()
        self._thread.join()
        self._look()

    def _look_on(self) -> None:
        while not self._end.wait(POLL_S):
            self._look()

    def _look(self) -> None:
        self.looks += 1
        for process in Path("/proc").iterdir():
            # A process may end at any moment.
            with suppress(OSError):
                words = (process / "cmdline").read_bytes() if process.name.isdecimal() else b""
                self.found.update(shown(f"process {process.name}", words))


def shown(place: str, content: bytes) -> list[str]:
    """Return the place, with some of what is around, where its content has a credential."""
    text = content.decode(errors="replace")
    found = [text.index(sign) for sign in SIGNS if sign in text]
    return [f"{place}: {text[max(0, at - 60) : at + 20]!r}" for at in found[:1]]


def shown_in_files(folder: Path) -> list[str]:
    """Return which files below a folder, and members of workbooks, have a credential in name or content."""
    found = []
    for file in (one for one in folder.rglob("*") if one.is_file()):
        found += shown(str(file), str(file).encode() + b"\n" + file.read_bytes())
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as members:
                found += [one for name in members.namelist() for one in shown(str(file), members.read(name))]
    return found


@dataclass(frozen=True)
class Outcome:
    """What came of a trial."""

    count: int
    codes: Sequence[int]
    looks: int
    found: Sequence[str]
    """Where credentials show."""
    missed: Sequence[str]
    """What should have been tried and was not, by the commands' own words."""


def tried(count: int, seed: int, given: Path, written: Path, *, command: Command, python: Command) -> Outcome:
    """Run the commands with about ``count`` credentials; ``python`` runs a script in place of a command.

    ``given`` is a folder for the studies and files of secrets, ``written`` the one that all that the commands
    write is in; they work in it.
    """
    with repeating_database() as port, CommandLines() as lines:
        credentials = Credentials(given, seed)
        quarter = max(3, count // 4)
        raw = quarter // 3
        studies = {
            "web": web_study(credentials, quarter),
            "two": study_of_two_loads(credentials),
            **driven_studies(credentials),
            "databases": database_study(credentials, quarter - raw, quarter, port),
            "refused": refused_study(credentials, raw),
        }
        files = {name: str(credentials.in_file(f"{name}.toml", text)) for name, text in studies.items()}
        headers = credentials.in_file("headers", f"Authorization: Bearer {credentials.one()}\n")
        credentials.variables["MINE"] = credentials.one()
        credentials.variables["REPEATED"] = credentials.one()
        credentials.variables["PATH"] = f"{repeating_tools(credentials, written)}:{os.environ['PATH']}"
        database = f"postgresql://me@127.0.0.1:{port}/app?sslmode=disable"
        under_tools = [name for name in files if name.startswith(("driven-", "secretive-"))]
        commands = [
            ["run", files["web"], "--out", "out"],
            ["report", "out", "--format", "md,csv,json,xlsx"],
            ["run", files["two"], "--out", "two"],
            *(["run", files[name], "--out", name] for name in under_tools),
            ["run", files["databases"], "--out", "none"],
            ["run", files["refused"], "--out", "never"],
            [
                "load",
                f"http://127.0.0.1:{CLOSED_PORT}/",
                "--header",
                f"@{headers}",
                "--header-env",
                "Cookie=MINE",
            ],
            ["load", database, "--workload", "a", "--duration", "1s", "--password-env", "MINE"],
        ]
        calls = calls_of_api(credentials, port)
        program = credentials.in_file("api.py", API)
        asked = credentials.in_file("calls.json", json.dumps(calls))
        # A tool has the person's environment, and is to have none of what the study takes from it.
        of_tools = {name: credentials.variables[name] for name in ("REPEATED", "PATH")}
        finished = [
            command(one, of_tools if one[-1] in under_tools else credentials.variables) for one in commands
        ]
        finished.append(python([str(program), str(asked)], credentials.variables))
    outputs = [text for one in finished for text in (one.stdout, one.stderr)]
    found = [*lines.found, *shown_in_files(written), *shown_on_databases(credentials)]
    found += [one for text in outputs for one in shown("output", text.encode())]
    said = "\n".join(outputs)
    # Without these the trial would have shown nothing.
    expected = (
        r"API_TOKEN_\d+=\(hidden\)",
        r"the server's token \(hidden\) is not mine",
        *(
            f"Cookie may be secret, but {name}"
            for name, tool in driven_tools(kinds.WEB).items()
            if abilities(tool).headers
        ),
        r"--otlp http://127\.0\.0\.1:9: ",
        r"the password \(hidden\) is not mine",
        "percent-encoded",
    )
    missed = [words for words in expected if re.search(words, said) is None]
    return Outcome(credentials.count, [one.returncode for one in finished], lines.looks, found, missed)


def main() -> None:
    """Print where credentials show, and end with 1 where one does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="loadcurve-credentials-") as name:
        # Who becomes another user passes through.
        Path(name).chmod(0o755)
        given, written = Path(name, "given"), Path(name, "written")
        given.mkdir(mode=0o700)
        written.mkdir()

        def running(program: Path) -> Command:
            places = {"XDG_STATE_HOME": str(written / "state"), "TMPDIR": str(written)}
            return lambda words, variables: subprocess.run(
                [program, *words],
                cwd=written,
                env={**os.environ, **variables, **places},
                capture_output=True,
                text=True,
                check=False,
            )

        python = Path(sys.executable)
        command = running(python.with_name("loadcurve"))
        outcome = tried(
            arguments.count, arguments.seed, given, written, command=command, python=running(python)
        )
    codes = ", ".join(map(str, outcome.codes))
    print(f"{outcome.count:,} credentials, exit codes {codes}, {outcome.looks:,} looks at all processes")
    for words in outcome.missed:
        print(f"not tried, because nothing says: {words}")
    for place in outcome.found:
        print(place)
    print(f"{len(outcome.found)} places show a credential")
    sys.exit(bool(outcome.found or outcome.missed))


if __name__ == "__main__":
    main()
