"""What the commands that judge a ratio share: the share that counts, as it is typed, and exit codes."""

import re
from typing import assert_never

from loadcurve.analysis.change import Outcome
from loadcurve.errors import BadInput
from loadcurve.exit_codes import EXIT_DONE, EXIT_INVALID, EXIT_UNDECIDED
from loadcurve.toml.quantities import parse_share

A_NUMBER = re.compile(r"\d+(\.\d+)?")


def exit_code_of(outcome: Outcome, *, is_strict: bool) -> int:
    """Return what a gate ends with."""
    match outcome:
        case Outcome.FAILED:
            return EXIT_INVALID
        case Outcome.UNDECIDED:
            return EXIT_UNDECIDED if is_strict else EXIT_DONE
        case Outcome.PASSED:
            return EXIT_DONE
        case _ as never:
            assert_never(never)


def regression_share(given: str) -> float:
    """Return the least regression that counts, as :func:`share_of`."""
    return share_of("--fail-on-regression", given)


def share_of(option: str, given: str) -> float:
    """Return a share of one from the text of an option, in per cent: 0.05 of ``"5%"``.

    Raises ``BadInput``: the text is no such share.
    """
    try:
        return parse_share(given)
    except ValueError as error:
        meant = f'; did you mean "{given}%"?' if A_NUMBER.fullmatch(given.strip()) else ""
        raise BadInput(f"{option}: {error}{meant}") from None
