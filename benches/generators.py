"""The load generators, each a value: its command line for one thread, and how what it prints is read."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benches.rig import LOADCURVE, PATH, Target
from loadcurve.result.load import LoadResult

FLOOR = str(Path(__file__).resolve().parent.parent / "target" / "release" / "loadcurve-floor")
FASTEST_RPS = 1_000_000
"""More than any generator reaches here: a count of requests that the duration always cuts short."""
WRK_PIPELINE_SCRIPT = str(Path(__file__).with_name("pipeline.lua"))
HTTPERF_RPS = 100_000
"""httperf ends by a count of requests; at this rate that takes it as long as the others run."""


@dataclass(frozen=True)
class Loop:
    """A closed loop: every connection keeps ``pipeline`` requests under way."""

    connections: int
    pipeline: int = 1

    def __str__(self) -> str:
        """Return the connections, and the depth of their pipelines where they are any."""
        return str(self.connections) if self.pipeline == 1 else f"{self.connections} x {self.pipeline}"


@dataclass(frozen=True)
class Load:
    """What a generator is to do."""

    target: Target
    loop: Loop
    duration_s: int


@dataclass(frozen=True)
class Reading:
    """What a generator reports of its run."""

    requests: int
    rps: float
    thread_cpu_per_request_us: float | None = None
    """Processor time of the threads that make the load, where the generator tells it."""


@dataclass(frozen=True)
class Generator:
    """A load generator."""

    name: str
    program: str
    install: str
    """How to get it, as a command."""
    command: Callable[[Load], list[str]]
    """The arguments of the program, for one thread."""
    read: Callable[[str], Reading]
    version_option: str | None = None
    """What makes the program print its version first; ``None`` where nothing does."""
    pipelines: bool = False
    """Whether it can keep several requests under way on a connection."""

    def can(self, loop: Loop) -> bool:
        """Say whether it can drive such a loop."""
        return self.pipelines or loop.pipeline == 1

    def is_installed(self) -> bool:
        """Say whether the program is there."""
        return shutil.which(self.program) is not None

    def version(self) -> str:
        """Return the name with the version, as far as the program tells it."""
        if self.version_option is None:
            return self.name
        # Some print their version and call that a failure.
        done = subprocess.run(
            [self.program, self.version_option], capture_output=True, text=True, check=False
        )
        found = re.search(r"\d+\.\d+(\.\d+)?", done.stdout + done.stderr)
        return f"{self.name} {found[0]}" if found else self.name


def _reading_of(requests: str, rps: str) -> Callable[[str], Reading]:
    """Return a reader of text in which these two patterns find the count and the rate."""

    def read(output: str) -> Reading:
        found = {name: re.search(pattern, output) for name, pattern in (("count", requests), ("rate", rps))}
        count, rate = found["count"], found["rate"]
        if count is None or rate is None:
            raise ValueError(f"expected {requests!r} and {rps!r} in: {output}")
        return Reading(int(count[1]), float(rate[1]))

    return read


def _read_loadcurve(output: str) -> Reading:
    result = LoadResult.model_validate_json(output)
    if result.rate_rps.answered is None:
        raise ValueError(f"expected a rate of answers in: {output}")
    return Reading(result.requests.answered, result.rate_rps.answered, result.generator.cpu_per_request_us)


def _read_floor(output: str) -> Reading:
    cost = json.loads(output)
    return Reading(cost["requests"], cost["rps"], cost["cpu_per_request_us"])


def _read_gcannon(output: str) -> Reading:
    """Divide the count by the time, as the rate that it prints has five digits."""
    found = re.search(r"(\d+) requests in ([0-9.]+)s", output)
    if found is None:
        raise ValueError(f"expected the requests and their time in: {output}")
    return Reading(int(found[1]), int(found[1]) / float(found[2]))


OURS = Generator(
    name="loadcurve",
    program=LOADCURVE,
    install="make setup",
    command=lambda load: [
        *("load", load.target.url, "--json", "-c", str(load.loop.connections), "-d", f"{load.duration_s}s"),
        *("--pipeline", str(load.loop.pipeline)),
    ],
    read=_read_loadcurve,
    version_option="--version",
    pipelines=True,
)

FLOOR_GENERATOR = Generator(
    name="floor",
    program=FLOOR,
    install="cargo build --release --package loadcurve-floor",
    command=lambda load: [
        *("exchange", "--address", load.target.address, "--request", load.target.request),
        *("--answer-bytes", str(load.target.answer_bytes), "--connections", str(load.loop.connections)),
        *("--duration", str(load.duration_s)),
    ],
    read=_read_floor,
)

OTHERS = (
    Generator(
        name="wrk",
        program="wrk",
        install="apt-get install wrk",
        command=lambda load: [
            *("-t", "1", "-c", str(load.loop.connections), "-d", f"{load.duration_s}s"),
            # Its own way to send one request at a time is quicker than a script.
            *(() if load.loop.pipeline == 1 else ("-s", WRK_PIPELINE_SCRIPT)),
            *(load.target.url, "--", str(load.loop.pipeline)),
        ],
        read=_reading_of(requests=r"(\d+) requests in", rps=r"Requests/sec:\s*([0-9.]+)"),
        version_option="-v",
        pipelines=True,
    ),
    Generator(
        name="gcannon",
        program="gcannon",
        install="make in its sources",
        command=lambda load: [
            *(load.target.url, "-t", "1", "-c", str(load.loop.connections), "-d", f"{load.duration_s}s"),
            *("-p", str(load.loop.pipeline)),
        ],
        read=_read_gcannon,
        pipelines=True,
    ),
    Generator(
        name="ab",
        program="ab",
        install="apt-get install apache2-utils",
        # A duration sets the count of requests to 50,000, so the count comes after it.
        command=lambda load: [
            *("-k", "-q", "-c", str(load.loop.connections), "-t", str(load.duration_s)),
            *("-n", str(FASTEST_RPS * load.duration_s), load.target.url),
        ],
        read=_reading_of(requests=r"Complete requests:\s*(\d+)", rps=r"Requests per second:\s*([0-9.]+)"),
        version_option="-V",
    ),
    Generator(
        name="httperf",
        program="httperf",
        install="apt-get install httperf",
        # All connections open at once and make their calls one by one: a closed loop, ended by a count.
        command=lambda load: [
            *("--hog", "--server", load.target.host),
            *("--port", load.target.port, "--uri", PATH),
            *("--num-conns", str(load.loop.connections), "--rate", str(FASTEST_RPS)),
            *("--num-calls", str(HTTPERF_RPS * load.duration_s // load.loop.connections)),
        ],
        read=_reading_of(requests=r"replies (\d+) test-duration", rps=r"Request rate:\s*([0-9.]+)"),
        version_option="--version",
    ),
    Generator(
        name="h2load",
        program="h2load",
        install="apt-get install nghttp2-client",
        command=lambda load: [
            *(
                "--h1",
                "-t",
                "1",
                "-c",
                str(load.loop.connections),
                "-D",
                str(load.duration_s),
                load.target.url,
            ),
        ],
        read=_reading_of(requests=r"(\d+) succeeded", rps=r"([0-9.]+) req/s"),
        version_option="--version",
    ),
    Generator(
        name="hey",
        program="hey",
        install="apt-get install hey",
        command=lambda load: [
            *("-cpus", "1", "-c", str(load.loop.connections), "-z", f"{load.duration_s}s", load.target.url),
        ],
        read=_reading_of(requests=r"\[200\]\s*(\d+) responses", rps=r"Requests/sec:\s*([0-9.]+)"),
    ),
    Generator(
        name="oha",
        program="oha",
        install="cargo install --locked oha",
        # It has as many threads as CPUs that it may use.
        command=lambda load: [
            *("--no-tui", "-c", str(load.loop.connections), "-z", f"{load.duration_s}s", load.target.url),
        ],
        read=_reading_of(requests=r"\[200\]\s*(\d+) responses", rps=r"Requests/sec:\s*([0-9.]+)"),
        version_option="--version",
    ),
    FLOOR_GENERATOR,
)
"""What the engine is compared with."""
