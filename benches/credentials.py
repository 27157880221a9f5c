"""Whether generated credentials show anywhere: in a file, on stdout or stderr, in a list of processes.

They are put into five parts of the product. `studies`: header fields, and variables of a server that prints
its environment; bodies and header fields of two loads at once. `drivers`: loads that other tools are to
send, of all that Loadcurve drives, which write down their arguments and their environment and repeat a
credential. `databases`: passwords in URLs, in the environment and in files, which a database repeats when
it refuses them, through the real driver. `api`: what the Python API is given. `collectors`: the logins of
collectors of metrics, which repeat them. The credentials are in the study, in the environment or in a file.
A few real commands are run with all of them; meanwhile the command line of every process is read again and
again, and afterwards all that the commands have written.

    python -m benches.credentials [--count 1000] [--seed 1] [--only PART]...
"""

import argparse
import base64
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

from benches.credential_ways import (
    API,
    CLOSED_PORT,
    SIGN,
    Credentials,
    abilities,
    calls_of_api,
    database_study,
    driven_studies,
    logins_of_collector,
    refused_study,
    repeating_tools,
    study_of_two_loads,
    web_study,
)
from loadcurve.loads import kinds
from loadcurve.loads.ycsb import DatabaseLoad, DatabaseLoadTable
from loadcurve.tools.catalog import driven_tools
from loadcurve.tools.driver import DatabaseToolRequest

Command = Callable[[Sequence[str], dict[str, str]], subprocess.CompletedProcess[str]]
"""Runs loadcurve, or another program, with arguments and further variables of the environment."""

PARTS = ("studies", "drivers", "databases", "api", "collectors")
SIGNS = (SIGN, *(base64.b64encode(b"." * shift + SIGN.encode())[4:-4].decode() for shift in range(3)))
"""The sign, and what each text in Base64 has that holds it, at whatever place."""
POLL_S = 0.02
URLS_OF_A_TOOL = 10


def shown_on_databases(credentials: Credentials) -> list[str]:
    """Return where the words for tools for databases show a credential; these start only beside one."""
    given = {"model": "ycsb", "workload": "c", "threads": 1, "operations": 100, "warmup": "0s"}
    load = DatabaseLoadTable.model_validate(given).with_values({}, DatabaseLoad).asking()
    found = []
    ways = itertools.product(
        driven_tools(kinds.DATABASE).items(), ("postgresql", "mongodb"), range(URLS_OF_A_TOOL)
    )
    for (name, tool), scheme, number in ways:
        url = f"{scheme}://me:{quote(credentials.one(), safe='')}@127.0.0.1:{CLOSED_PORT}/app"
        files = credentials.folder / f"{name}-{scheme}-{number}"
        files.mkdir()
        wanted = DatabaseToolRequest(load=load, url=url, threads=1, files=files)
        found += shown(f"{name} on {scheme}", "\n".join(tool.driver.arguments(wanted)).encode())
        found += [f"{file} is open to others" for file in files.iterdir() if file.stat().st_mode & 0o077]
    return found


@contextmanager
def refusing(refuse: Callable[[socket.socket], None]) -> Iterator[int]:
    """Let each client that connects be refused so, one after the other; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_refuse_all, args=(listener, refuse), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def _refuse_all(listener: socket.socket, refuse: Callable[[socket.socket], None]) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client, suppress(OSError):
            client.settimeout(10)
            refuse(client)


def repeat_login_of_metrics(client: socket.socket) -> None:
    """Refuse metrics as a collector does that repeats the login in the reason."""
    head = b""
    while b"\r\n\r\n" not in head and (more := client.recv(65536)):
        head += more
    given = [
        line for line in head.split(b"\r\n") if line.lower().startswith((b"authorization", b"api-key", b"x-"))
    ]
    client.sendall(b"HTTP/1.1 403 not " + b" nor ".join(given) + b"\r\nContent-Length: 0\r\n\r\n")


def repeat_password(client: socket.socket) -> None:
    """Speak PostgreSQL's protocol as far as to ask for a password and to repeat it."""
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


@dataclass(frozen=True)
class Trial:
    """Runs commands with credentials, of one part after the other."""

    credentials: Credentials
    count: int
    written: Path
    command: Command
    python: Command

    def study(self, name: str, text: str) -> str:
        """Write a study where only its owner may read it."""
        return str(self.credentials.in_file(f"{name}.toml", text))

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run loadcurve with all that credentials are in."""
        return self.command(words, {**self.credentials.variables, **variables})

    def studies(self) -> Iterator[subprocess.CompletedProcess[str]]:
        """Try studies of web servers, and what is written of them."""
        web = self.study("web", web_study(self.credentials, self.count // 4))
        two = self.study("two", study_of_two_loads(self.credentials))
        headers = self.credentials.in_file("headers", f"Authorization: Bearer {self.credentials.one()}\n")
        mine = self.credentials.one()
        yield self.run("run", web, "--out", "out")
        yield self.run("report", "out", "--format", "md,csv,json,xlsx")
        yield self.run("run", two, "--out", "two")
        yield self.run("compare", "out", "two")
        yield self.run("runs", ".", "--all", "--html")
        url = f"http://127.0.0.1:{CLOSED_PORT}/"
        yield self.run("load", url, "--header", f"@{headers}", "--header-env", "Cookie=MINE", MINE=mine)

    def drivers(self) -> Iterator[subprocess.CompletedProcess[str]]:
        """Try every tool that is driven: it has the person's environment, and nothing that a study takes."""
        repeated = self.credentials.variables["REPEATED"] = self.credentials.one()
        path = f"{repeating_tools(self.credentials, self.written)}:{os.environ['PATH']}"
        for name, text in driven_studies(self.credentials).items():
            words = ["run", self.study(name, text), "--out", name]
            yield self.command(words, {"REPEATED": repeated, "PATH": path})

    def databases(self, port: int) -> Iterator[subprocess.CompletedProcess[str]]:
        """Try databases that are absent, that repeat the password, and URLs that were not encoded."""
        quarter = max(3, self.count // 4)
        raw = quarter // 3
        studies = {
            "none": database_study(self.credentials, quarter - raw, quarter, port),
            "never": refused_study(self.credentials, raw),
        }
        for name, text in studies.items():
            yield self.run("run", self.study(name, text), "--out", name)
        database = f"postgresql://me@127.0.0.1:{port}/app?sslmode=disable"
        words = ("load", database, "--workload", "a", "--duration", "1s", "--password-env", "MINE")
        yield self.run(*words, MINE=self.credentials.one())

    def api(self, port: int) -> Iterator[subprocess.CompletedProcess[str]]:
        """Try a program that uses the Python API."""
        part = max(1, self.count // 8)
        study = self.study("of-the-api", web_study(self.credentials, part // 2))
        calls = calls_of_api(self.credentials, part, study, port)
        program = self.credentials.in_file("api.py", API)
        asked = self.credentials.in_file("calls.json", json.dumps(calls))
        yield self.python([str(program), str(asked)], self.credentials.variables)

    def collectors(self, port: int) -> Iterator[subprocess.CompletedProcess[str]]:
        """Try a collector of metrics that repeats the login, with the page for Prometheus beside it."""
        study = self.study("sent", web_study(self.credentials, max(2, self.count // 50)))
        sinks = ("--otlp", f"http://127.0.0.1:{port}", "--metrics", "127.0.0.1:0")
        yield self.run("run", study, "--out", "sent", *sinks, **self._login(0))
        url = f"http://127.0.0.1:{CLOSED_PORT}/"
        headers = ("--header-env", "Cookie=MINE")
        for number in range(1, 2 + self.count // 100):
            mine = self.credentials.one()
            words = ("load", url, "--duration", "1500ms", *headers, *sinks)
            yield self.run(*words, MINE=mine, **self._login(number))

    def _login(self, number: int) -> dict[str, str]:
        return {"OTEL_EXPORTER_OTLP_HEADERS": logins_of_collector(self.credentials, number)}


EXPECTED: Mapping[str, Sequence[str]] = {
    "studies": (r"API_TOKEN_\d+=\(hidden\)",),
    "drivers": (
        r"the server's token \(hidden\) is not mine",
        *(
            f"(Cookie|Authorization) may be secret, but {name}"
            for name, tool in driven_tools(kinds.WEB).items()
            if abilities(tool).headers
        ),
    ),
    "databases": (r"the password \(hidden\) is not mine", "percent-encoded"),
    "api": (r"--otlp http://127\.0\.0\.1:9: ",),
    "collectors": (r"--otlp http://127\.0\.0\.1:\d+: .*\(hidden\)",),
}
"""What the commands of a part say, without which the trial would have shown nothing."""


def tried(
    count: int,
    seed: int,
    given: Path,
    written: Path,
    *,
    command: Command,
    python: Command,
    parts: Sequence[str] = PARTS,
) -> Outcome:
    """Run the commands with about ``count`` credentials; ``python`` runs a script in place of a command.

    ``given`` is a folder for the studies and files of secrets, ``written`` the one that all that the commands
    write is in; they work in it.
    """
    credentials = Credentials(given, seed)
    trial = Trial(credentials, count, written, command, python)
    said: dict[str, list[subprocess.CompletedProcess[str]]] = {}
    with ExitStack() as stack:
        database, collector = (
            stack.enter_context(refusing(one)) for one in (repeat_password, repeat_login_of_metrics)
        )
        lines = stack.enter_context(CommandLines())
        ways: Mapping[str, Callable[[], Iterator[subprocess.CompletedProcess[str]]]] = {
            "studies": trial.studies,
            "drivers": trial.drivers,
            "databases": partial(trial.databases, database),
            "api": partial(trial.api, database),
            "collectors": partial(trial.collectors, collector),
        }
        for part in parts:
            said[part] = list(ways[part]())
        on_databases = shown_on_databases(credentials) if "drivers" in parts else []
    outputs = {part: [text for one in run for text in (one.stdout, one.stderr)] for part, run in said.items()}
    found = [*lines.found, *shown_in_files(written), *on_databases]
    found += [one for texts in outputs.values() for text in texts for one in shown("output", text.encode())]
    missed = [
        f"{part}: {words}"
        for part, texts in outputs.items()
        for words in EXPECTED[part]
        if re.search(words, " ".join("\n".join(texts).split())) is None
    ]
    codes = [one.returncode for run in said.values() for one in run]
    return Outcome(credentials.count, codes, lines.looks, found, missed)


def main() -> None:
    """Print where credentials show, and end with 1 where one does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=PARTS, metavar="PART", help=", ".join(PARTS))
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
        outcome = tried(
            arguments.count,
            arguments.seed,
            given,
            written,
            command=running(python.with_name("loadcurve")),
            python=running(python),
            parts=arguments.only or PARTS,
        )
    print("exit codes", ", ".join(map(str, outcome.codes)))
    for words in outcome.missed:
        print(f"not tried, because nothing says: {words}")
    for place in outcome.found:
        print(place)
    tried_with = f"{outcome.count:,} credentials, {len(outcome.codes)} commands, {outcome.looks:,} looks"
    print(f"{tried_with} at all processes: {len(outcome.found)} places show a credential")
    sys.exit(bool(outcome.found or outcome.missed))


if __name__ == "__main__":
    main()
