"""What watching for pauses costs, and whether planted pauses are found at their time and length.

Both sides of a load, the process of the generator and a probe, are stopped together: by SIGSTOP, and by the
freezer of control groups where there is one that can be written. Beside each planted pause is what both
sides say of it; pauses that the machine made by itself are counted apart. The cost is what the scheduler
counts for the two threads that watch, as a share of a CPU.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benches.rig import LOADCURVE, Cpus, machine, running_server
from loadcurve.result.load import LoadResult
from loadcurve.result.pauses import Pause, RawPause, pauses_within
from loadcurve.server.probing import PROGRAM

LENGTHS_MS = (5, 7, 10, 15, 25, 40, 80, 150, 400)
GOAL_CPU = 0.005
GOAL_MS = 1.0
FREEZER = Path("/sys/fs/cgroup/freezer")
NS_PER_S = 1e9
SEED = 14
SAME_END_S = 0.001
"""The two sides see the end of one pause within this time of each other."""

Act = Callable[[], None]
START_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Planted:
    """A planted pause on the monotonic clock, each end known within two readings around a system call."""

    way: str
    start_s: float
    end_s: float


def main() -> int:
    """Print both tables; returns 1 where a goal was missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="of all lengths, in each way")
    arguments = parser.parse_args()
    print(machine())
    cpus = Cpus(server=0, generator=(os.cpu_count() or 1) - 1)
    with running_server("limit", cpus.server) as target, _both_sides(target.url, cpus) as sides:
        for side in sides:
            _wait_for_watching(side.pid)
        begun_s, before_s = time.monotonic(), [_watching_cpu_s(side.pid) for side in sides]
        time.sleep(10)
        passed_s = time.monotonic() - begun_s
        costs = [(_watching_cpu_s(side.pid) - b) / passed_s for side, b in zip(sides, before_s, strict=True)]
        planted = list(_plant([side.pid for side in sides], arguments.rounds))
        time.sleep(0.3)
        generator, probe = sides
        generator.send_signal(signal.SIGINT)
        result = LoadResult.model_validate_json(generator.communicate()[0])
        samples = probe.communicate()[0]
    for name, cost in zip(("generator", "server"), costs, strict=True):
        print(f"the {name}'s thread uses {cost:.2%} of a CPU (goal: < {GOAL_CPU:.1%})")
    found = _found(result, samples)
    good = _print_found(planted, found, result.began_monotonic_s)
    return 0 if good and max(costs) < GOAL_CPU else 1


@contextmanager
def _both_sides(url: str, cpus: Cpus) -> Iterator[tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    load = [LOADCURVE, "load", url, "-R", "200", "-d", "600s", "--json"]
    probe = [str(PROGRAM), "--pid", str(os.getpid()), "--cpus", str(cpus.server)]
    with (
        subprocess.Popen(
            [*load, "--cpus", str(cpus.generator)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as generator,
        subprocess.Popen(probe, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as probing,
    ):
        try:
            yield generator, probing
        finally:
            for side in (generator, probing):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(side.pid, signal.SIGCONT)
                if side.poll() is None:
                    side.terminate()


def _wait_for_watching(pid: int) -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while _watching(pid) is None:
        if time.monotonic() > deadline_s:
            sys.exit(f"process {pid} has no thread that watches for pauses")
        time.sleep(0.05)


def _watching(pid: int) -> Path | None:
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            if (thread / "comm").read_text(encoding="ascii").strip() == "pauses":
                return thread
    return None


def _watching_cpu_s(pid: int) -> float:
    """Return the processor time of the thread that watches."""
    thread = _watching(pid)
    assert thread is not None, "it watches until its process ends"
    return int((thread / "schedstat").read_text(encoding="ascii").split()[0]) / NS_PER_S


def _plant(pids: list[int], rounds: int) -> Iterator[Planted]:
    drawn = random.Random(SEED)  # noqa: S311 -- moments, not secrets
    with _ways(pids) as ways:
        for way, stop, go_on in ways:
            for length_ms in LENGTHS_MS * rounds:
                time.sleep(drawn.uniform(0.15, 0.25))
                stop()
                start_s = time.monotonic()
                while time.monotonic() < start_s + length_ms / 1e3:
                    pass
                go_on()
                yield Planted(way, start_s, time.monotonic())


@contextmanager
def _ways(pids: list[int]) -> Iterator[list[tuple[str, Act, Act]]]:
    def signalled(number: signal.Signals) -> None:
        for pid in pids:
            os.kill(pid, number)

    ways: list[tuple[str, Act, Act]] = [
        ("SIGSTOP", partial(signalled, signal.SIGSTOP), partial(signalled, signal.SIGCONT))
    ]
    group = FREEZER / f"loadcurve-pauses-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        print("no freezer of control groups can be written here: SIGSTOP alone")
        yield ways
        return
    for pid in pids:
        (group / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def put(state: str) -> None:
        (group / "freezer.state").write_text(state, encoding="ascii")

    try:
        yield [*ways, ("freezer", partial(put, "FROZEN"), partial(put, "THAWED"))]
    finally:
        put("THAWED")
        for pid in pids:
            with contextlib.suppress(OSError):
                (FREEZER / "cgroup.procs").write_text(str(pid), encoding="ascii")
        group.rmdir()


def _found(result: LoadResult, samples: bytes) -> list[Pause]:
    """Return the pauses that both sides saw, by the start of the window."""
    start_s = result.began_monotonic_s
    lines = [json.loads(line) for line in samples.splitlines()[1:]]
    raw = [RawPause.model_validate(one) for line in lines for one in line["pauses"] or []]
    server = pauses_within(raw, start_s, start_s + result.duration_s)
    assert result.generator.pauses is not None, "this kernel counts what threads wait for"
    return on_both_sides(result.generator.pauses.listed, server.listed)


def on_both_sides(ours: Sequence[Pause], theirs: Sequence[Pause]) -> list[Pause]:
    """Return the pauses that both sides saw end together, each with the start that both leave possible.

    The two sides look half a period apart, so together they know a start better than each alone.
    """
    found = []
    for one in ours:
        same = [other for other in theirs if abs(other.end_s - one.end_s) <= SAME_END_S]
        for other in same[:1]:
            earliest_s = max(side.start_s - side.within_ms / 1e3 for side in (one, other))
            latest_s = min(side.start_s + side.within_ms / 1e3 for side in (one, other))
            if earliest_s <= latest_s:
                start_s, end_s = (earliest_s + latest_s) / 2, min(one.end_s, other.end_s)
                length_ms = max(end_s - start_s, 0.0) * 1e3
                within_ms = (latest_s - earliest_s) / 2 * 1e3
                found.append(Pause(start_s=start_s, length_ms=length_ms, within_ms=within_ms))
    return found


def _print_found(planted: list[Planted], found: list[Pause], window_s: float) -> bool:
    print(f"{'way':<8}  {'planted':>9}  {'found':>9}  {'start off by':>12}  {'length off by':>13}")
    unmatched, good = list(found), True
    for one in planted:
        length_ms = (one.end_s - one.start_s) * 1e3
        overlapping = [
            pause
            for pause in unmatched
            if pause.start_s + window_s < one.end_s and pause.end_s + window_s > one.start_s
        ]
        if not overlapping:
            print(f"{one.way:<8}  {length_ms:>6.1f} ms  {'not found':>9}")
            good = False
            continue
        pause = max(overlapping, key=lambda candidate: candidate.length_ms)
        unmatched.remove(pause)
        start_ms = (pause.start_s + window_s - one.start_s) * 1e3
        off_ms = pause.length_ms - length_ms
        good &= max(abs(start_ms), abs(off_ms)) <= GOAL_MS
        print(
            f"{one.way:<8}  {length_ms:>6.1f} ms  {pause.length_ms:>6.1f} ms  {start_ms:>+9.2f} ms"
            f"  {off_ms:>+10.2f} ms"
        )
    print(f"{len(unmatched)} pauses of both sides were the machine's own")
    return good


if __name__ == "__main__":
    sys.exit(main())
