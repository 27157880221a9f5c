"""The native part: the load engine, its histograms, and the positions of keys in TOML."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Self, final

import numpy
from numpy.typing import NDArray

__all__ = [
    "HAS_DEBUG_ASSERTIONS",
    "ClockEcho",
    "Database",
    "DatabaseError",
    "KernelCounters",
    "Levels",
    "Load",
    "LocalPorts",
    "PauseWatch",
    "PeriodSums",
    "RequestList",
    "ask",
    "body_length",
    "body_lines",
    "clock_exchanges",
    "count_of",
    "counted_times",
    "descriptor_set",
    "encode_message",
    "encoded_counters",
    "grpc_statuses",
    "is_expected_status",
    "judge",
    "latency_bounds_s",
    "make_certificates",
    "merge_parts",
    "method_streams",
    "pause_delays",
    "percentile_curve",
    "reflection_answer",
    "reflection_question",
    "schema_methods",
    "table_columns",
    "tables",
    "toml_positions",
    "uring_refusal",
    "workload",
]

HAS_DEBUG_ASSERTIONS: bool
"""Whether the native parts check themselves, as a release does not: that takes a multiple of the time."""

@final
class ClockEcho:
    """An echo on a separate native thread, by which another machine compares its clock with this one."""

    @staticmethod
    def start(address: str, key: bytes) -> ClockEcho:
        """Answer whoever knows the ``key`` of 16 bytes, on a free UDP port of this numeric address.

        Raises:
            ValueError: the address is not numeric, or the key is of another length.
            OSError: the machine has no such address, or no port or thread left.

        """

    @property
    def address(self) -> str | None:
        """Where it answers, ``host:port``; ``None`` when it has been stopped."""

    def stop(self) -> None:
        """End the echo; it can be stopped again."""

@final
class Database:
    """A database outside of a load; every question connects anew and waits for its answer."""

    def __new__(cls, target: str) -> Self:
        """Take the database that ``target`` (JSON) names, without connecting.

        Keys: ``url``, ``namespace``, ``table``, ``settings`` (texts by name), ``timeout_s``, ``workload``.

        Raises:
            ValueError: no such database is known, or its settings do not belong to it.

        """

    def version(self) -> str:
        """Return what the database calls itself and its version, such as ``MongoDB 7.0.14``.

        Raises:
            DatabaseError: the database does not answer, or lets nobody in; the same for all other questions.

        """

    def exists(self) -> bool:
        """Whether the table is there already."""

    def is_ours(self) -> bool:
        """Whether the table is there and bears the mark of one that :meth:`create` made."""

    def create(self) -> None:
        """Make an empty table, marked as ours, and the namespace if it is not there."""

    def remove(self) -> None:
        """Remove the table whoever made it, and the namespace if this made it and nothing else is in it."""

    def count(self) -> int:
        """Return how many records the table holds: counted, not estimated."""

class DatabaseError(ValueError):
    """Why a database did not do what was asked.

    Its arguments are the class, as results name it (such as ``connect_refused``), and an explanation.
    """

@final
class KernelCounters:
    """The TCP counters of this network namespace as they are now."""

    def __new__(cls) -> Self:
        """Read them; what the kernel does not publish is absent."""

    def since(self, earlier: KernelCounters) -> str:
        """Return how much each has grown since then, as JSON."""

@final
class Load:
    """A load that runs on separate native threads from its start on."""

    @staticmethod
    def start(plan: str, *, begins_on_request: bool = False) -> Load:
        """Start the load that ``plan`` (JSON) describes; whether anybody answers there is not asked before.

        It begins when its connections are open, or on request: see :meth:`begin`.

        The plan is under the name of its kind of work, ``http`` or ``ycsb``; keys that it does not know
        are refused.

        Raises:
            ValueError: the plan asks for something that cannot be.
            RuntimeError: this machine, as it is set up, cannot run the plan.

        """

    @staticmethod
    def start_part(plan: str, index: int, count: int) -> Load:
        """Start the share ``index`` (from 0) of ``count`` equal ones of a load; it begins on request.

        Its :meth:`finish` returns the part that this process records, in the form that
        :func:`merge_parts` takes. Raises as :meth:`start`, and ``ValueError`` where there is no such share,
        or where it has fewer connections than the plan has threads.
        """

    def is_ready(self) -> bool:
        """Whether all connections have been opened, as far as that was possible."""

    def begin(self, at_ns: int) -> None:
        """Set the start of a ready load that waits for it: a moment to come of the monotonic clock.

        Raises:
            RuntimeError: it cannot begin then.

        """

    def progress(
        self,
    ) -> tuple[
        float | None,
        int,
        dict[str, int],
        tuple[float, int, tuple[float, float, float] | None] | None,
        float | None,
        tuple[list[int], float],
    ]:
        """Return seconds since the warm-up began, answers, failures by class, and more of a load under way.

        The first is ``None`` while connecting. The fourth is the last second, ``None`` during the first one:
        a length in seconds, answers, and the percentiles 50, 90 and 99 of their latency in ms, each within
        1/32 of the true one (``None`` where nothing was answered). A second ends with the first call that
        comes after it. The age
        is that of the oldest request under way, in seconds; ``None`` where none is. The latencies are of all
        answers so far: how many lie between the bounds of :func:`latency_bounds_s`, and their sum in seconds.
        """

    def stop(self) -> None:
        """End the load now; what was measured is kept."""

    def is_finished(self) -> bool:
        """Whether the load has ended."""

    def finish(self) -> str:
        """Wait for the end; return the result as JSON, without the load that it is of. Can be called once."""

@final
class Levels:
    """A load that goes through several levels without a pause, on separate native threads."""

    @staticmethod
    def start(plans: list[str]) -> Levels:
        """Start the load that goes through these levels, each described as for :meth:`Load.start`.

        They may differ in their model, connections, rate and times.

        Raises:
            ValueError: a plan asks for something that cannot be, or cannot go on from the one before it.
            RuntimeError: this machine, as it is set up, cannot run the plans.

        """

    def progress(
        self,
    ) -> tuple[
        float | None,
        int,
        dict[str, int],
        tuple[float, int, tuple[float, float, float] | None] | None,
        float | None,
        tuple[list[int], float],
    ]:
        """Return what :meth:`Load.progress` returns, from the start of the first level on."""

    def stop(self) -> None:
        """End the load now; what was measured is kept."""

    def is_finished(self) -> bool:
        """Whether the load has ended."""

    def take_result(self) -> str | None:
        """Return the result of the next level as JSON, once the last of its requests has ended."""

    def finish(self) -> list[str]:
        """Wait for the end; return the results that were not taken. Can be called once.

        One that was under way when the load was stopped is marked as interrupted.
        """

@final
class LocalPorts:
    """The local ports that connections to one destination could take, as they are now."""

    @staticmethod
    def towards(destination: str, proc: str | PathLike[str]) -> LocalPorts | None:
        """Count the ports towards a numeric ``host:port``, by what the kernel tells in ``/proc``.

        ``None`` where the kernel does not publish its range of local ports.

        Raises:
            ValueError: the destination is not of the form.

        """

    @property
    def available(self) -> int:
        """How many more connections to the destination there can be."""

    @property
    def held_for_s(self) -> float:
        """How long a port is held after its connection was closed on this side first."""

    @property
    def settings(self) -> list[str]:
        """Settings of sysctl that make more ports available, or for a shorter time; as root."""

    def needed_for_ever(self, turnover_cps: float) -> int:
        """Return how many ports are taken where this many connections per second are opened and closed."""

@final
class PauseWatch:
    """A thread on the CPUs of a load that notes when they did not run, from now on until it is stopped."""

    def __new__(cls, cpus: Sequence[int]) -> Self:
        """Begin on these CPUs; on those that this process may run on, where there is none."""

    def stop(self) -> list[tuple[float, float, float]] | None:
        """End, and return the pauses: between which moments each began, and when it ended.

        They are in seconds of the monotonic clock. ``None`` where this kernel does not let pauses be
        distinguished from the work of other threads, and after the first call.
        """

@final
class PeriodSums:
    """What is summed up of the answers in each period of a window."""

    def __new__(cls, periods: int, width_ns: int, digits: int) -> Self:
        """Begin with none; ``digits`` are the significant ones of the histograms, 1 to 5.

        Raises:
            ValueError: there is no period, it has no width, or the digits are others.

        """

    def add(
        self,
        done_ns: NDArray[numpy.int64],
        times_ns: NDArray[numpy.int64],
        body_bytes: NDArray[numpy.int64] | None = None,
    ) -> None:
        """Add answers, by when they were done since the window's begin, their times and their bodies.

        Raises:
            ValueError: the arrays have different lengths.

        """

    def periods(self) -> list[tuple[int, int, int, int, int, bytes]]:
        """Return the answers of each period.

        That is how many, the shortest and the longest time and the sum of all in ns, the sum of the bodies'
        lengths in bytes, and the counters (int64) of the histogram of the times.
        """

@final
class RequestList:
    """A file with a path and perhaps a weight, or a time, on each line, checked; only an index is held."""

    def __new__(cls, path: str | PathLike[str]) -> Self:
        """Open the list and check every line.

        Raises:
            ValueError: the file cannot be read or holds no request, or lines are not of the form; one line of
                text for each problem.

        """

    @property
    def count(self) -> int:
        """How many requests there are, at least one."""

    @property
    def has_weights(self) -> bool:
        """Whether any line gives a weight."""

    @property
    def recorded_s(self) -> float | None:
        """When the last request was recorded, from the start of the recording; ``None`` without times."""

    @property
    def short(self) -> list[tuple[str, float | None, int]] | None:
        """Path, weight and line (from 1) of every request; ``None`` for a list of more than 100."""

    @property
    def has_statuses(self) -> bool:
        """Whether any line says which status is expected."""

    def statuses_of(self, paths: list[str]) -> list[set[int]]:
        """Return the statuses that the lines of each of these paths expect.

        Raises:
            ValueError: the file is not what it was.

        """

    def sample(self, count: int, seed: int) -> list[str]:
        """Pick this many paths at random, the same for the same seed; one that is picked twice counts twice.

        Raises:
            ValueError: the file is not what it was.

        """

def is_expected_status(expected: int, found: int) -> bool:
    """Whether an answer of the status ``found`` is as good as one of the expected status.

    A load sends no conditions and no ranges, so 200 is as good as 206, 304, 412 and 416. Where 408, 425, 429,
    444, 499 or 5xx is expected, which depend on the moment, any status below 400 is.
    """

def ask(
    plan: str, take_body: Callable[[int, bytes], object]
) -> list[tuple[tuple[int, int, tuple[str, str | None] | None] | None, tuple[str, str] | None]]:
    """Make each request of a plan once, on a separate connection, exactly as its load would make it.

    The plan is under ``http``, and its requests are given, not listed in a file. The parts of bodies are
    handed over as they come, with the place of their request. Returns for each request, up to the first that
    is not answered, its status, the length of its answer's body and, of a call of gRPC, the name of its
    status and what the server says of it; or the class of its failure and an explanation. A request has the
    timeout of the plan, and more for a long body that does not come slowly.

    Raises:
        ValueError: the plan asks for something that cannot be.
        RuntimeError: the server does not agree to how it is to be spoken with.

    """

def encode_message(
    schema: str | PathLike[str] | bytes, folders: Sequence[str | PathLike[str]], method: str, json: str
) -> bytes:
    """Encode the message of a call of ``/package.Service/Method`` that JSON describes.

    The schema is a ``.proto`` file, whose imports are looked for beside it and in the folders, or a
    descriptor set, in a file or as it is.

    Raises:
        ValueError: the schema cannot be read or has no such method, or the JSON does not fit the message; the
            text names the file, the field and the line.

    """

def method_streams(
    schema: str | PathLike[str] | bytes, folders: Sequence[str | PathLike[str]], method: str
) -> tuple[bool, bool]:
    """Return whether a method streams its requests, and its answers, by a schema.

    Raises ``ValueError``: the schema cannot be read or has no such method; the text names the file.
    """

def schema_methods(descriptors: bytes) -> list[str]:
    """Return the methods of a descriptor set, as ``package.Service/Method``.

    Raises ``ValueError``: it is none, or lacks something.
    """

def descriptor_set(files: Sequence[bytes]) -> bytes:
    """Return a descriptor set of encoded files."""

def reflection_question(*, symbol: str | None = None, file: str | None = None) -> bytes:
    """Return the message that asks the reflection of a server.

    For the file in which ``symbol`` is defined; else for the file of a name; else for its services.
    """

def reflection_answer(
    message: bytes,
) -> tuple[list[tuple[str, list[str], bytes]], list[str], tuple[int, str] | None]:
    """Read an answer: its files, each with its name and the names of its imports; services; a refusal.

    A refusal has the number of a status of gRPC and what the server says. Two of the three are empty.

    Raises ``ValueError``: it is no answer.
    """

def body_lines(path: str | PathLike[str]) -> int:
    """Return how many bodies the lines of a file are that requests take in turn; blank ones are left out.

    Raises ``ValueError`` with a text that names the file: it cannot be read, has no line, or has too many.
    """

def body_length(path: str | PathLike[str]) -> int:
    """Length in bytes of a file that is to be the body of requests.

    Raises:
        ValueError: the file cannot be one: it cannot be read, or has no length of its own.

    """

def clock_exchanges(
    address: str, key: bytes, count: int, patience_s: float
) -> list[tuple[int, int, int, int]]:
    """Ask a :class:`ClockEcho` what its clock reads, one question after the other.

    Returns for each question that was answered within ``patience_s``, in ns of monotonic clocks: sent (here),
    received (there), replied (there), arrived (here).

    Raises:
        ValueError: the address is no numeric ``host:port``, or the key is not 16 bytes long.
        OSError: there is no way to the address.

    """

def counted_times(times_ns: list[int], counts: list[int]) -> tuple[str, str]:
    """Return what times that each occurred so often make together; the lists have one length.

    The first text is the distribution in ms as JSON, the second its HdrHistogram of nanoseconds in base64.
    """

def count_of(byte: int, block: bytes, end: int | None = None) -> int:
    """Return how often a byte occurs in a block, before ``end`` where that is given."""

def encoded_counters(indices: NDArray[numpy.int64], counts: NDArray[numpy.int64]) -> bytes:
    """Return the counters (int64, in the order of their indices) of a histogram in its interchange format."""

def table_columns(block: bytes, separator: int, kinds: str) -> list[tuple[bytes, list[str]]] | None:
    """Return the values of the used columns of a block of lines, and the texts that differ.

    ``kinds`` has a letter for each column: ``w`` for whole numbers (int64), ``d`` for decimal ones (float64),
    ``f`` for true or false (bool), ``t`` for places among the texts (uint32), ``-`` for what is not read.
    ``None`` where a line is not plain.
    """

def judge(figures: str) -> str:
    """Return the verdict (JSON) on what another generator than the engine reports of its load (JSON).

    Keys of the figures: ``work`` ("http" or "ycsb"), ``stop``, ``interrupted``, ``duration_s``,
    ``warmup_s``, ``answered``, ``ok``, ``failed``, ``failures`` and ``status`` (counts by class),
    ``asked_rps``, ``requests_at_once``, ``mean_latency_ms``, ``threads``, ``cpu_share`` (of as many CPUs).
    What is not known is ``None``.

    Raises:
        ValueError: no load can have these figures.

    """

def make_certificates(kind: str, names: list[str]) -> tuple[str, str, str]:
    """Make an authority, and a certificate that it signs for a server of these names and addresses.

    Keys of the kind "ecdsa" are on the curve P-256, those of "rsa" have 2048 bits. Both certificates are
    valid at any time. Returns in PEM the authority's certificate, the server's, and the server's key; the
    key of the authority is gone.

    Raises:
        ValueError: there is no such kind, or no certificate can hold one of the names.

    """

def merge_parts(plan: str, parts: list[str], begin_ns: int) -> tuple[str, str]:
    """Merge the parts of a load, in any order, to its result, which began at this reading of the clock here.

    Returns two texts of JSON: the result, as from :meth:`Load.finish`; and a list with a row for each part.

    Raises:
        ValueError: there is none, one is no part of a load, or the plan cannot be.

    """

def pause_delays(lengths_s: list[float], window_s: float) -> tuple[str, str]:
    """Return how long a request due at any moment of a window would wait for pauses of these lengths.

    The first text is the distribution in ms as JSON, the second its HdrHistogram of nanoseconds in base64.
    """

def percentile_curve(encoded: list[str]) -> list[tuple[float, float]]:
    """Merge base64 HdrHistograms of nanoseconds; return (percentile 0 to 100, time in ms) of each value.

    Raises:
        ValueError: one of them is not an HdrHistogram (V2, deflate).

    """

def tables() -> str:
    """Return the tables as JSON: ``failures``, ``statuses`` (results count by both), verdicts' ``codes``."""

def toml_positions(text: str) -> list[tuple[list[str], int, int]]:
    """Path, line and column (from 1) of every key of a TOML document.

    Raises:
        ValueError: the text is not TOML; its arguments are the message, the line and the column.

    """

def grpc_statuses() -> list[str]:
    """Return the names of the statuses of gRPC, each in the place of its number."""

def latency_bounds_s() -> list[float]:
    """Return the bounds in s between which a load under way shows how many answers there were, ascending."""

def uring_refusal() -> str | None:
    """Return why the kernel does not offer io_uring to this process; ``None`` where it does."""

def workload(name: str | None, properties: str | None, file_name: str, overrides: list[str]) -> str:
    """Return a workload of YCSB as JSON: ``workload``, ``run`` and ``ignored``.

    It is the one called ``name`` (``a`` to ``f``; YCSB's defaults without a name), changed by the text of a
    property file, which messages call ``file_name``, and then by ``overrides`` (``property=value``). ``run``
    holds what else the properties say, ``None`` where they do not: ``operations``, ``threads``, ``rate_rps``,
    ``duration_max_s``, ``table``. ``ignored`` names those that change nothing here.

    Raises:
        ValueError: no such workload, or a property is wrong; one line of text for each problem.

    """
