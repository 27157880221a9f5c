"""The clients of databases, each a value: how it is built, its command, and how what it prints is read."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benches.rig import LOADCURVE
from loadcurve.host.state import cache_folder

SOURCES = Path(__file__).with_name("foreign")
BUILDS = cache_folder() / "benches"
GO_YCSB_VERSION = "1.0.1"
"""That of ``foreign/go-ycsb/go.mod``."""
YCSB_VERSION = "0.17.0"
"""That of ``foreign/ycsb-mongodb/pom.xml``."""
LAST_LINES = 5
"""How much is shown of what a program printed."""
MIXES = {
    "a": {"readproportion": "0.5", "updateproportion": "0.5"},
    "c": {"readproportion": "1.0", "updateproportion": "0.0"},
}
"""YCSB's core workloads that are compared; ours knows them by name."""


@dataclass(frozen=True)
class DatabaseLoad:
    """What a client is to do."""

    url: str
    phase: Literal["load", "run"]
    workload: str
    threads: int
    records: int
    operations: int
    """Of the run phase; the load phase inserts the records."""

    @property
    def count(self) -> int:
        """How many operations its phase has."""
        return self.records if self.phase == "load" else self.operations


@dataclass(frozen=True)
class DatabaseReading:
    """What a client reports of its run."""

    operations: int
    operations_per_s: float
    failed: int


@dataclass(frozen=True)
class DatabaseClient:
    """A client of databases that puts YCSB's workloads on them. Each has its own table."""

    name: str
    tool: str
    """The program without which it cannot be built or run."""
    install: str
    """How to get that, as a command."""
    build: Callable[[], None]
    """Builds it, where that is not done yet."""
    command: Callable[[DatabaseLoad], Sequence[str]]
    read: Callable[[str], DatabaseReading]

    def is_installed(self) -> bool:
        """Say whether it can be built and run here."""
        return shutil.which(self.tool) is not None


def _properties(load: DatabaseLoad) -> list[str]:
    properties = {
        **MIXES[load.workload],
        "recordcount": str(load.records),
        "operationcount": str(load.count),
        "requestdistribution": "zipfian",
        "mongodb.url": load.url,
    }
    return [word for name, value in properties.items() for word in ("-p", f"{name}={value}")]


def _loadcurve_command(load: DatabaseLoad) -> list[str]:
    stop = [] if load.phase == "load" else ["-n", str(load.operations)]
    return [
        *(LOADCURVE, "load", load.url, "--workload", load.workload, "--phase", load.phase, "--json"),
        *("-t", str(load.threads), "--records", str(load.records), *stop),
    ]


def _read_loadcurve(output: str) -> DatabaseReading:
    result = json.loads(output)
    requests = result["requests"]
    failed = requests["due"] - requests["ok"]
    return DatabaseReading(requests["answered"], result["rate_rps"]["answered"], failed)


def _go_ycsb() -> Path:
    return BUILDS / f"go-ycsb-{GO_YCSB_VERSION}" / "go-ycsb"


def _build_go_ycsb() -> None:
    program = _go_ycsb()
    if not program.exists():
        _copy_sources("go-ycsb", program.parent)
        # Its databases in C are not among those that are compared.
        package = "github.com/pingcap/go-ycsb/cmd/go-ycsb"
        _build(["go", "build", "-mod=mod", "-o", str(program), package], program.parent, {"CGO_ENABLED": "0"})


def _go_ycsb_command(load: DatabaseLoad) -> list[str]:
    return [
        *(str(_go_ycsb()), load.phase, "mongodb", "--threads", str(load.threads)),
        *("-p", "workload=core", "-p", "table=go_ycsb", *_properties(load)),
    ]


def _read_go_ycsb(output: str) -> DatabaseReading:
    """Read the lines after the end of the run: one for each kind of operation, one for all that succeeded."""
    _, _, end = output.rpartition("Run finished")
    counts = {kind: int(count) for kind, count in re.findall(r"^(\S+)\s+- Takes.*? Count: (\d+)", end, re.M)}
    total = re.search(r"^TOTAL\s+- Takes.*? OPS: ([0-9.]+)", end, re.M)
    if total is None:
        raise ValueError(f"expected a line TOTAL in: {_end(output)}")
    failed = sum(count for kind, count in counts.items() if kind.endswith("_ERROR"))
    return DatabaseReading(counts["TOTAL"] + failed, float(total[1]), failed)


def _ycsb() -> Path:
    return BUILDS / f"ycsb-{YCSB_VERSION}"


def _build_ycsb() -> None:
    if not (_ycsb() / "target" / "dependency").exists():
        _copy_sources("ycsb-mongodb", _ycsb())
        _build(["mvn", "--batch-mode", "--quiet", "package"], _ycsb(), {})


def _ycsb_command(load: DatabaseLoad) -> list[str]:
    target = _ycsb() / "target"
    return [
        *("java", "-cp", f"{target / 'classes'}:{target / 'dependency'}/*", "site.ycsb.Client"),
        *("-load" if load.phase == "load" else "-t", "-db", "loadcurve.benches.MongoDb"),
        *("-threads", str(load.threads), "-p", "workload=site.ycsb.workloads.CoreWorkload"),
        *("-p", "table=ycsb_java", *_properties(load)),
    ]


def _read_ycsb(output: str) -> DatabaseReading:
    """Read the lines of all operations, and those that count each kind and each status."""
    rate = re.search(r"^\[OVERALL\], Throughput\(ops/sec\), ([0-9.]+)", output, re.M)
    if rate is None:
        raise ValueError(f"expected the throughput in: {_end(output)}")
    statuses = re.findall(r"^\[(?:READ|UPDATE|INSERT)\], Return=(\S+), (\d+)", output, re.M)
    operations = sum(int(count) for _, count in statuses)
    failed = sum(int(count) for status, count in statuses if status != "OK")
    return DatabaseReading(operations, float(rate[1]), failed)


def _end(output: str) -> str:
    return "\n".join(output.splitlines()[-LAST_LINES:])


def _copy_sources(name: str, folder: Path) -> None:
    shutil.copytree(SOURCES / name, folder, dirs_exist_ok=True)


def _build(command: Sequence[str], folder: Path, environment: dict[str, str]) -> None:
    words = " ".join(command)
    print(f"building in {folder}: {words}", file=sys.stderr)
    settings = [f"{name}={value}" for name, value in environment.items()]
    done = subprocess.run(
        ["env", *settings, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{words} ended with {done.returncode}:\n{_end(done.stdout + done.stderr)}")


OUR_CLIENT = DatabaseClient(
    name="loadcurve",
    tool=LOADCURVE,
    install="make setup",
    build=lambda: None,
    command=_loadcurve_command,
    read=_read_loadcurve,
)

OTHER_CLIENTS = (
    DatabaseClient(
        name="go-ycsb",
        tool="go",
        install="apt-get install golang",
        build=_build_go_ycsb,
        command=_go_ycsb_command,
        read=_read_go_ycsb,
    ),
    DatabaseClient(
        name="ycsb",
        tool="mvn",
        install="apt-get install maven",
        build=_build_ycsb,
        command=_ycsb_command,
        read=_read_ycsb,
    ),
)
"""What ours is compared with."""
