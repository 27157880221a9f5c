"""Load from several machines: how well clocks are known, how far apart loads begin, what parts merge to.

``python -m benches.several_machines`` needs root, for network and time namespaces. The machines are
namespaces of this one: see ``benches.namespaces`` for what that hides.
"""

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benches.namespaces import namespaces
from loadcurve._engine import Load, merge_parts
from loadcurve.loads.http import ClosedLoad, HttpLoad, OpenLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.runs.plan import plan_at_point
from loadcurve.server.found import NATIVE_FOLDER

AHEAD_S = (0, 7, 3600, 86_400)
"""How far ahead the clocks of the machines are."""
LOADS = 50
COMPARISONS = 200
PARTS = 16
ORDERS = 10
NS_PER_S = 1_000_000_000
SERVER = NATIVE_FOLDER / "loadcurve-server"


def measured_apart(folder: Path, ahead_s: Sequence[int], loads: int, comparisons: int) -> dict[str, Any]:
    """Return what ``benches.machines_apart`` measures with machines whose clocks are so far ahead."""
    agent = [sys.executable, "-P", "-m", "loadcurve.machines.agent"]
    with namespaces(ahead_s) as (hub, machines):
        described = [
            {"name": one.name, "address": one.address, "command": one.command(*agent)} for one in machines
        ]
        words = [str(loads), str(comparisons), hub.address, str(SERVER), str(folder), json.dumps(described)]
        command = hub.command(sys.executable, "-m", "benches.machines_apart", *words)
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def true_starts_ms(result: dict[str, Any], ahead_s: Sequence[int]) -> list[float]:
    """Return when each machine began, from the planned begin, by the clocks as they truly are."""
    parts = result["machines"]["parts"]
    return [
        part["start_ms"] + (part["clock"]["offset_s"] - ahead) * 1e3
        for part, ahead in zip(parts, ahead_s, strict=True)
    ]


def spread(times: Sequence[float]) -> float:
    """Return from the first to the last."""
    return max(times) - min(times)


def plans(address: str) -> Iterator[tuple[str, HttpPlan]]:
    """Yield a closed and an open plan with a number of requests."""
    common: dict[str, Any] = {"threads": 1, "requests": ["/a"], "connections": 32, "warmup": 0.0}
    closed: HttpLoad = ClosedLoad(model="closed", requests_total=5003, **common)
    opened = OpenLoad(model="open", rate=2000.0, requests_total=2003, **common)
    for name, load in (("closed", closed), ("open", opened)):
        yield name, plan_at_point(load, address, {}, (), seed=0)


def brought_home(plan: HttpPlan, count: int) -> list[str]:
    """Return the parts of a plan that a number of generators in this process carry out at once."""
    loads = [Load.start_part(plan.to_json(), index, count) for index in range(count)]
    while not all(load.is_ready() for load in loads):
        time.sleep(0.005)
    at_ns = time.monotonic_ns() + NS_PER_S // 5
    for load in loads:
        load.begin(at_ns)
    return [load.finish() for load in loads]


def counts(result: dict[str, Any]) -> list[object]:
    """Return every count that does not depend on times."""
    operations = [(one["operation"], one["answered"], one["failed"]) for one in result["operations"]]
    return [result[name] for name in ("requests", "bytes", "status", "errors")] + [operations]


def merge_lines(folder: Path) -> Iterator[str]:
    """Yield what the merge of many parts gives, and what it costs."""
    command = [str(SERVER), "limit", "--listen", "127.0.0.1:0", "--root", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().removeprefix("listening on ").strip()
            for name, plan in plans(address):
                yield from _merge_of(name, plan)
        finally:
            server.kill()


def _merge_of(name: str, plan: HttpPlan) -> Iterator[str]:
    parts = brought_home(plan, PARTS)
    merged = [merge_parts(plan.to_json(), parts, 0)[0]]
    for _ in range(ORDERS):
        random.shuffle(parts)
        merged.append(merge_parts(plan.to_json(), parts, 0)[0])
    alone = merge_parts(plan.to_json(), brought_home(plan, 1), 0)[0]
    same = counts(json.loads(merged[0])) == counts(json.loads(alone))
    figures = ("latency_ms", "service_time_ms", "histograms", "series", "slowest")
    orders = {json.dumps([json.loads(text)[figure] for figure in figures]) for text in merged}
    yield f"{name}: counts of {PARTS} parts equal those of one generator: {same}"
    yield f"{name}: different results among {ORDERS + 1} orders of merging: {len(orders)}"
    size = statistics.mean(map(len, parts))
    begin = time.perf_counter()
    many = parts * 64
    merge_parts(plan.to_json(), many[:1000], 0)
    took_s = time.perf_counter() - begin
    yield f"{name}: a part is {size / 1e3:.0f} kB of JSON; merging 1,000 takes {took_s:.2f} s"


def clock_lines(found: dict[str, Any], ahead_s: Sequence[int]) -> Iterator[str]:
    """Yield how often the stated error covers the truth."""
    tries = [
        (offset_ns - ahead * NS_PER_S, error_ns, over)
        for row, ahead in zip(found["comparisons"], ahead_s, strict=True)
        for offset_ns, error_ns, over in row
    ]
    covered = sum(abs(off_ns) <= error_ns for off_ns, error_ns, _ in tries)
    errors_us = sorted(error_ns / 1e3 for _, error_ns, _ in tries)
    off_us = sorted(abs(off_ns) / 1e3 for off_ns, _, _ in tries)
    ways = {over for *_, over in tries}
    yield f"offset: {covered} of {len(tries)} comparisons cover the truth, over {', '.join(sorted(ways))}"
    yield f"offset: stated error: median {statistics.median(errors_us):.1f} µs, most {errors_us[-1]:.1f} µs"
    yield f"offset: off by: median {statistics.median(off_us):.1f} µs, most {off_us[-1]:.1f} µs"


def start_lines(found: dict[str, Any], ahead_s: Sequence[int]) -> Iterator[str]:
    """Yield how far apart loads began."""
    stated, true, within = [], [], 0
    for result in found["results"]:
        machines = result["machines"]
        lost = [part["lost"] for part in machines["parts"] if part["lost"] is not None]
        if lost:
            yield f"start: a load without all of its machines: {lost[0]}"
            continue
        stated.append(machines["start_spread_ms"])
        true.append(spread(true_starts_ms(result, ahead_s)))
        within += abs(stated[-1] - true[-1]) <= machines["start_error_ms"]
    below = sum(one <= 1.0 for one in true)
    yield f"start: {below} of {len(true)} loads from {len(ahead_s)} machines began within 1 ms"
    yield f"start: true spread: median {statistics.median(true):.3f} ms, most {max(true):.3f} ms"
    yield f"start: the stated spread is within its error of the true one in {within} of {len(true)}"


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "a").write_bytes(b"x" * 100)
        for line in merge_lines(folder):
            print(line)
        found = measured_apart(folder, AHEAD_S, LOADS, COMPARISONS // len(AHEAD_S))
        for line in (*clock_lines(found, AHEAD_S), *start_lines(found, AHEAD_S)):
            print(line)


if __name__ == "__main__":
    main()
