"""What generated credentials are put into: studies, calls of the Python API, tools, and their environment."""

import json
import random
import shlex
import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from loadcurve.loads import kinds
from loadcurve.tools.catalog import Tool, driven_tools
from loadcurve.tools.table import Abilities

SIGN = "Zq7xKw3Vn"
"""Is in each piece of every credential, and nowhere else."""
RAW = "/?#@:%&= "
HEADERS_OF_AN_ARM = 20
HEADERS = ("Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "X-Anything")
SECRETS_OF_A_TOOL = 4
"""Header fields, and variables of its server."""
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


def driven_study(tools: Sequence[Tool], credentials: Credentials, **load: object) -> str:
    """Return a study whose load is sent by each of these tools of one model, each to another server."""
    model = abilities(tools[0]).models[0]
    sweep, more = OF_MODELS[model]
    study = DRIVEN.format(model=in_toml(model), sweep=sweep, load=more)
    servers = []
    for tool in tools:
        of_tool = {"generator": tool.name, "http": abilities(tool).http[0], **load}
        own = {f"TOKEN_{number}": credentials.from_elsewhere(0) for number in range(SECRETS_OF_A_TOOL)}
        environment = {"API_TOKEN": {"env": "REPEATED"}, **own}
        servers.append(table(f"under-{tool.name}", "limit", load=of_tool, environment=environment))
    return "\n".join([study, *servers])


def driven_studies(credentials: Credentials) -> dict[str, str]:
    """Return a study of all tools of each model, and one for each that would have secret header fields."""
    tools = driven_tools(kinds.WEB).values()
    studies = {}
    for model in OF_MODELS:
        of_model = [one for one in tools if abilities(one).models[0] == model]
        studies[f"driven-{model}"] = driven_study(of_model, credentials)
    for tool in tools:
        headers = {name: credentials.one() for name in HEADERS[:SECRETS_OF_A_TOOL]}
        studies[f"secretive-{tool.name}"] = driven_study([tool], credentials, headers=headers)
    return studies


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


def calls_of_api(
    credentials: Credentials, count: int, study: str, port: int
) -> list[tuple[str, str, dict[str, object]]]:
    """Return calls of the Python API with about ``count`` credentials, in all that may hold one."""
    # What is there answers no HTTP, so that the load continues and comes to nothing.
    web = f"http://127.0.0.1:{port}/"
    calls: list[tuple[str, str, dict[str, object]]] = [("run", study, {"out": "of-the-api"})]
    first = credentials.count
    while not (credentials.count - first) > count:
        headers = [f"{name}: Bearer {credentials.one()}" for name in HEADERS]
        login = f"me:{quote(credentials.one(), safe='')}"
        database = f"postgresql://me:{quote(credentials.one(), safe='')}@127.0.0.1:{port}/app?sslmode=disable"
        calls += [
            (
                "load",
                web,
                {
                    "header": headers,
                    "method": "POST",
                    "body": credentials.one(),
                    # Figures are sent each second, so that the first load has some to send.
                    "duration": "2500ms" if len(calls) == 1 else "100ms",
                    "otlp": f"http://{login}@127.0.0.1:{CLOSED_PORT}",
                },
            ),
            ("load", database, {"workload": "a", "duration": "100ms"}),
        ]
    return calls


def logins_of_collector(credentials: Credentials, number: int) -> str:
    """Return what OpenTelemetry's library takes header fields from: right ones, and a mistake."""
    first, second, third = (credentials.one() for _ in range(3))
    fields = [
        f"api-key={quote(first, safe='')}",
        f"Authorization=Bearer%20{quote(second, safe='')}",
        # Not encoded, or without a name: the library warns, and shows it.
        f"x-tenant={third}" if number % 2 else third,
    ]
    return ",".join(fields)


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
