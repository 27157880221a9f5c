"""Break the product in one place after the other, and see whether the tests notice.

    python -m benches.mutations [NAME…] [--thorough]

Each row of the tables beside this file is an edit that breaks something that matters. It is applied alone to
a copy of this checkout, and the tests that are named for it are run, the cheapest first. An edit is
``killed`` when one of them fails, and has ``survived`` when none does; ``--thorough`` then runs all tests of
its layer. ``NAME`` is a part of an edit's name or of the path of its file. The exit code is 1 where an edit
has survived or could not be built.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benches.mutations.checkout import Checkout, Outcome, copied
from benches.mutations.edits import Edit, read_edits

TIMEOUT_S = 900.0
"""Of a test without any edit: much longer than any takes, and than a first build of dependencies."""
LEAST_TIMEOUT_S = 60.0
LONGER = 3.0
"""A test that takes this many times as long as the longest one without any edit does not end."""
ALL_OF_PYTHON = ["--numprocesses", "logical", "--maxprocesses", "8", "tests/unit"]
ALL_OF_RUST = ["--workspace", "--exclude", "loadcurve-python"]


@dataclass(frozen=True)
class Result:
    """What became of an edit."""

    edit: Edit
    state: str
    """``killed``, ``survived`` or ``could not be built``."""
    by: str
    """The test that has noticed, if any."""
    took_s: float

    @property
    def line(self) -> str:
        """The result in one line."""
        by = f"  by {self.by}" if self.by else ""
        return f"{self.state:8}  {self.took_s:6.1f} s  {self.edit.name}{by}"


def main() -> int:
    """Try the edits that were asked for and return the exit code."""
    options = _options()
    edits = [edit for edit in read_edits() if _is_asked_for(edit, options.names)]
    problems = [f"{edit.name}: {problem}" for edit in edits for problem in edit.problems()]
    if problems or not edits:
        sys.exit("\n".join(problems) or "no edit has such a name")
    with copied(TIMEOUT_S) as checkout:
        checkout.timeout_s = max(LEAST_TIMEOUT_S, LONGER * _require_passing(checkout, edits))
        results = []
        for edit in edits:
            results.append(_tried(checkout, edit, thorough=options.thorough))
            print(results[-1].line, flush=True)
    _print_summary(results)
    return 0 if all(result.state == "killed" for result in results) else 1


def _options() -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(prog="python -m benches.mutations", description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a part of an edit's name or of its file's path"
    )
    parser.add_argument(
        "--thorough", action="store_true", help="show what survives to all tests of its layer"
    )
    return parser.parse_args()


def _is_asked_for(edit: Edit, names: Sequence[str]) -> bool:
    return not names or any(name in edit.name or name in edit.file for name in names)


def _require_passing(checkout: Checkout, edits: Sequence[Edit]) -> float:
    """Return how many seconds the longest test takes once it is built.

    Ends the program where a test fails without any edit, and so would seem to notice all of them.
    """
    started_s = time.monotonic()
    tests = list(dict.fromkeys(test for edit in edits for test in edit.noticed_by))
    longest_s = 0.0
    for test in tests:
        outcome = checkout.run(test)
        if outcome.ended != "passed":
            sys.exit(f"{test} fails without any edit ({outcome.ended}):\n{outcome.tail}")
        longest_s = max(longest_s, outcome.took_s)
    print(f"{len(tests)} files and packages pass unedited, {time.monotonic() - started_s:.0f} s", flush=True)
    return longest_s


def _tried(checkout: Checkout, edit: Edit, *, thorough: bool) -> Result:
    started_s = time.monotonic()
    state, by = "survived", ""
    with checkout.broken(edit):
        for test in edit.noticed_by:
            state, by = _noticed(checkout.run(test), test)
            if state != "survived":
                break
        if state == "survived" and thorough:
            everything = (
                checkout.run_rust(ALL_OF_RUST) if edit.is_rust else checkout.run_python(ALL_OF_PYTHON)
            )
            state, by = _noticed(everything, f"all tests of its layer:\n{everything.tail}")
    return Result(edit, state, by, time.monotonic() - started_s)


def _noticed(outcome: Outcome, test: str) -> tuple[str, str]:
    match outcome.ended:
        case "passed":
            return "survived", ""
        case "failed":
            return "killed", test
        case "timed_out":
            return "killed", f"{test}, which did not end"
        case "not_built":
            return "could not be built", f"cargo:\n{outcome.tail}"


def _print_summary(results: Sequence[Result]) -> None:
    counts = Counter(result.state for result in results)
    print(f"\n{len(results)} edits: " + ", ".join(f"{count} {state}" for state, count in counts.items()))
    for result in results:
        if result.state != "killed":
            print(f"\n{result.edit.name} ({result.state})\n  {result.edit.file}\n  {result.edit.breaks}")


if __name__ == "__main__":
    sys.exit(main())
