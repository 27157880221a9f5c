"""Whether loads name faults right: `python -m benches.named_faults [--trials N] [--only NAME]`.

Scripted servers (benches/faulty_server.py), each with one fault, count what they did. A short load on each
must say what the fault is, with counts that follow from the script and from the server's own, and must blame
nothing else. What is true of the machine (other programs take its CPUs, too few samples) may be said, too.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benches.faulty_connections import PLACE
from benches.rig import LOADCURVE, machine

GRACE_S = 2.0
TIMEOUT_S = 1.0
SPOKEN_AGAINST = 3
"""The exit code of a load whose verdict speaks against it."""
LOOKS = 1
"""A request, and its connection, with which the command looks at a server before it loads it."""
QUICK_ACKS = 16
"""Linux acknowledges the first segments of a connection at once (TCP_MAX_QUICKACKS)."""
OF_THE_MACHINE = frozenset(
    {
        "cpu_taken",
        "cpu_taken_noted",
        "generator_late",
        "generator_paused",
        "generator_saturated",
        "generator_throttled",
        "memory_pressure",
        "pauses_explain",
        "platform_paused",
        "steal",
        "too_few_samples",
        "unsettled",
    }
)
"""Codes of what a busy machine or a short load brings, whatever the server does."""


@dataclass(frozen=True)
class Tried:
    """What a load said, and what the server had done."""

    result: Mapping[str, Any]
    """As ``loadcurve load --json`` prints it."""
    truth: Mapping[str, Any]
    exit_code: int
    ended_at_s: float
    """When the command ended, on the monotonic clock."""

    @property
    def places(self) -> int:
        """How many requests were under way at once at most."""
        load = self.result["load"]
        places: int = load["connections"] * load["pipeline"]
        return places

    @property
    def said(self) -> Mapping[str, str]:
        """What the verdict says, by code."""
        verdict = self.result["verdict"]
        return {one["code"]: one["text"] for one in (*verdict["reasons"], *verdict["notes"])}


Check = Callable[[Tried], Iterator[str]]
"""Yields what is wrong."""


def within(name: str, found: float | None, low: float, high: float) -> Iterator[str]:
    """Say where a figure is not within its bounds."""
    if found is None or not low <= found <= high:
        bounds = f"{low:,g}" if low == high else f"{low:,g} to {high:,g}"
        yield f"{name} {'null' if found is None else format(found, ',g')}, not {bounds}"


def as_answered(tried: Tried) -> Iterator[str]:
    """Hold its answers against the server's, but for what the load's end cut off, and the look before it."""
    answered = tried.truth["answered"]
    yield from within(
        "answered", tried.result["requests"]["answered"], answered - LOOKS - tried.places, answered
    )


def nothing_failed(tried: Tried) -> Iterator[str]:
    """Hold that no request failed."""
    yield from within("failed", tried.result["requests"]["failed"], 0, 0)


def failed_if_late(tried: Tried) -> Iterator[str]:
    """Hold that no request failed but those that a busy machine sent when their connection ended."""
    yield from within("failed", tried.result["requests"]["failed"], 0, tried.truth["late"])


def failed_if_forgotten(tried: Tried) -> Iterator[str]:
    """Hold that at most the requests that the server forgot failed."""
    yield from within("failed", tried.result["requests"]["failed"], 0, tried.truth["forgotten"])


def failed_on_their_way(tried: Tried) -> Iterator[str]:
    """Hold the requests that met a close against those that the server found behind its own."""
    late, failed = tried.truth["late"], tried.result["requests"]["failed"]
    yield from within("failed", failed, late - tried.places, late)
    yield from within("on kept connections", tried.result["broken_off"]["kept_connection"], failed, failed)
    for code in ("errors", "kept_connections_closed"):
        if (code in tried.said) != (failed > 0):
            yield f"{failed} failed, and {code} is {'said' if code in tried.said else 'missing'}"


def never_served(tried: Tried) -> Iterator[str]:
    """Hold the connections that are served, and those that are not, against the server's."""
    counts, served = tried.result["connections"], tried.truth["at_once"]
    unserved = tried.result["load"]["connections"] - served
    waited = tried.result["waited_through"] or {"connections": 0}
    yield from within("served", counts["served"], served, served)
    yield from within("asked", counts["asked"], served + unserved, served + unserved)
    yield from within("waited through", waited["connections"], unserved, unserved)
    named = f"on {unserved} of {served + unserved} connections"
    if named not in tried.said.get("never_served", ""):
        yield f"{named!r} is missing"


def ended_after(number: int) -> Check:
    """Return a check of how many connections the server ended, each after a number of answers."""

    def check(tried: Tried) -> Iterator[str]:
        ended, found = tried.truth["ended"], tried.result["connections"]["ended_by_server"]
        connections = tried.result["load"]["connections"]
        yield from within("ended by the server", found["count"], max(ended - LOOKS - connections, 1), ended)
        for bound in ("min", "max"):
            yield from within(
                f"{bound} answers each", found["answers"] and found["answers"][bound], number, number
            )

    return check


def was_moved(tried: Tried) -> Iterator[str]:
    """Hold that requests went to other connections: at most the others of a pipeline behind each close."""
    others = tried.result["load"]["pipeline"] - 1
    yield from within("moved", tried.result["requests"]["moved"], 1, others * tried.truth["ended"])


def ended_by_408(tried: Tried) -> Iterator[str]:
    """Hold the idle connections that an answer ended against the server's."""
    ended = {one["status"]: one["count"] for one in tried.result["connections"]["idle_ended"]}
    said, connections = tried.truth["said_408"], tried.result["load"]["connections"]
    yield from within("idle ends by 408", ended.pop(408, 0), said - connections, said)
    if ended:
        yield f"idle ends by {ended}"


def some_408(tried: Tried) -> Iterator[str]:
    """Hold that the script came to its fault."""
    if not tried.truth["said_408"]:
        yield "the server never said 408"


def waits_for_acknowledgements(tried: Tried) -> Iterator[str]:
    """Hold the time of the second write against Linux's delayed acknowledgement, of 40 ms and a tick."""
    answered = tried.result["requests"]["answered"]
    quick = QUICK_ACKS * tried.result["load"]["connections"]
    yield from within("transfer p50, ms", tried.result["transfer_ms"]["p50"], 35, 60)
    delayed = tried.result["kernel"]["delayed_acks"]
    yield from within("delayed acknowledgements", delayed, answered - quick, 1.25 * answered)


def a_connection_each(tried: Tried) -> Iterator[str]:
    """Hold that each answer had its connection."""
    answered = tried.result["requests"]["answered"]
    yield from within(
        "connections opened", tried.result["connections"]["opened"], answered, answered + tried.places
    )


def ends_with_its_server(tried: Tried) -> Iterator[str]:
    """Hold that a load by number ends soon after its server, with the rest never sent."""
    load, counts = tried.result["load"], tried.result["requests"]
    after_s = tried.ended_at_s - tried.truth["died_at_s"]
    yield from within("seconds after the server's end", round(after_s, 2), 0, load["timeout_s"] + GRACE_S)
    yield from within("due", counts["due"], load["requests_total"], load["requests_total"])
    yield from within("exit code", tried.exit_code, SPOKEN_AGAINST, SPOKEN_AGAINST)


def all_redirected(tried: Tried) -> Iterator[str]:
    """Hold that all answers point to the script's place."""
    answered = tried.result["requests"]["answered"]
    yield from within("3xx", tried.result["status"]["3xx"], answered, answered)
    if tried.result["redirected_to"] != PLACE:
        yield f"redirected to {tried.result['redirected_to']}"


@dataclass(frozen=True)
class Fault:
    """A script of the server, the load that meets it, and what that has to say."""

    script: tuple[str, ...]
    options: str
    checks: tuple[Check, ...]
    required: frozenset[str] = frozenset()
    """Codes that must be said."""
    allowed: frozenset[str] = frozenset()
    """Codes that may be said because they are true of this fault, too."""

    def wrong(self, tried: Tried) -> list[str]:
        """Return what is wrong with what a load said."""
        counts = tried.result["requests"]
        parts = sum(counts[part] for part in ("answered", "failed", "unanswered", "never_sent"))
        found = [*within("sum of the outcomes", parts, counts["due"], counts["due"])]
        found += [f"{code} is missing" for code in sorted(self.required - tried.said.keys())]
        other = tried.said.keys() - self.required - self.allowed - OF_THE_MACHINE
        found += [f"says {code}: {tried.said[code]}" for code in sorted(other)]
        return found + [problem for check in self.checks for problem in check(tried)]


SOUND = (nothing_failed, as_answered)
IDLE = (failed_if_late, as_answered)
ON_THEIR_WAY = frozenset({"errors", "kept_connections_closed"})
THINKING = "-c 5 --think 500ms -d 2s --warmup 0s"
NOT_PIPELINED = frozenset({"not_pipelined"})
FORGETTING = f"-c 20 --pipeline 4 -d 1s --warmup 0s --timeout {TIMEOUT_S}s"
ERRORS = frozenset({"errors"})
FAULTS: Mapping[str, Fault] = {
    **{
        f"starve {number}": Fault(
            ("starve", str(number)),
            f"-c {connections} -d 1s --warmup 500ms --timeout 2s",
            (never_served,),
            required=frozenset({"never_served"}),
        )
        for number, connections in ((1, 20), (5, 20), (98, 100))
    },
    "announce 100": Fault(
        ("announce", "100"), "-c 20 --pipeline 4 -d 1s --warmup 0s", (*SOUND, ended_after(100), was_moved)
    ),
    "silent 100": Fault(
        ("silent", "100"),
        "-c 20 -d 1s --warmup 0s",
        (as_answered, failed_on_their_way, ended_after(100)),
        allowed=ON_THEIR_WAY,
    ),
    "silentlate 100": Fault(
        ("silentlate", "100"),
        "-c 20 -d 1s --warmup 0s",
        (as_answered, failed_on_their_way, ended_after(100)),
        required=ON_THEIR_WAY,
    ),
    "idle408": Fault(("idle408", "0.3"), THINKING, (*IDLE, ended_by_408, some_408)),
    "idle408first": Fault(("idle408first", "0.3"), THINKING, (*IDLE, ended_by_408)),
    # Of a schedule, connections are open before a request is due on them.
    "idle408first, scheduled": Fault(
        ("idle408first", "0.3"), "-c 10 -R 4 -d 2s --warmup 0s", (*IDLE, ended_by_408, some_408)
    ),
    "crlfafter": Fault(("crlfafter",), "-c 20 -d 1s --warmup 0s", SOUND),
    "idleclose": Fault(
        ("idleclose", "0.5"), THINKING, (as_answered, failed_on_their_way), allowed=ON_THEIR_WAY
    ),
    "nagle": Fault(("nagle",), "-c 20 -d 2s --warmup 0s", (*SOUND, waits_for_acknowledgements)),
    # What was forgotten has no answer, which is an error by the timeout, or by the close.
    "drop": Fault(
        ("drop",), FORGETTING, (as_answered, failed_if_forgotten), required=NOT_PIPELINED, allowed=ERRORS
    ),
    "dropclose": Fault(
        ("dropclose",), FORGETTING, (as_answered, failed_if_forgotten), required=NOT_PIPELINED, allowed=ERRORS
    ),
    "silent 1, HTTP/1.0": Fault(
        ("silent", "1"),
        "-c 20 --http 1.0 -d 1s --warmup 0s",
        (*SOUND, a_connection_each, ended_after(1)),
    ),
    "dies": Fault(
        ("die", "0.5"),
        f"-c 20 -n 200000 --timeout {TIMEOUT_S}s --warmup 0s",
        (as_answered, ends_with_its_server),
        required=frozenset({"server_lost", "errors"}),
        allowed=frozenset({"kept_connections_closed", "answers_cut_off", "new_connections_closed"}),
    ),
    "redirects": Fault(
        ("redirect",),
        "-c 20 -d 1s --warmup 0s",
        (*SOUND, all_redirected),
        required=frozenset({"redirected"}),
    ),
}


def tried(fault: Fault) -> Tried | str:
    """Load a server with a fault, or return why there is no result."""
    command = [sys.executable, "-m", "benches.faulty_server", *fault.script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None, "asked for"
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/x"
        words = [LOADCURVE, "load", url, "--json", *fault.options.split()]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        ended_at_s = time.monotonic()
        truth = json.loads(server.communicate()[0])
    try:
        return Tried(json.loads(ran.stdout), truth, ran.returncode, ended_at_s)
    except json.JSONDecodeError:
        return f"no result, exit code {ran.returncode}: {' '.join(ran.stderr.split())[-200:]}"


def wrong_of(fault: Fault, *, shown: bool) -> Sequence[str]:
    """Try a fault once; return what was wrong."""
    one = tried(fault)
    if isinstance(one, str):
        return [one]
    wrong = fault.wrong(one)
    if shown or wrong:
        counts = {name: count for name, count in one.truth.items() if count}
        print(f"  server: {json.dumps(counts)}; says: {', '.join(one.said) or 'nothing'}", flush=True)
    return wrong


def main() -> None:
    """Print the table; end with 1 where a fault was named wrongly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=3, metavar="N", help="of each fault")
    parser.add_argument("--only", default="", metavar="NAME", help="faults with this text in their names")
    parser.add_argument("--counts", action="store_true", help="show the server's counts of every trial")
    arguments = parser.parse_args()
    print(machine())
    rows = []
    for name, fault in FAULTS.items():
        if arguments.only not in name:
            continue
        trials = [wrong_of(fault, shown=arguments.counts) for _ in range(arguments.trials)]
        right = sum(not wrong for wrong in trials)
        rows.append(right == arguments.trials)
        print(
            f"{'' if rows[-1] else 'WRONG '}{name:<26} {arguments.trials:>3} trials {right:>3} named right",
            flush=True,
        )
        for problem, count in Counter(problem for wrong in trials for problem in wrong).items():
            print(f"    {count} times: {problem}", flush=True)
    print(f"\n{len(rows)} faults, {rows.count(False)} not always named right")
    sys.exit(0 if all(rows) else 1)


if __name__ == "__main__":
    main()
