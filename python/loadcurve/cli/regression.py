"""The least regression that fails a gate, as it is typed."""

import re

from loadcurve.errors import BadInput
from loadcurve.toml.quantities import parse_share

A_NUMBER = re.compile(r"\d+(\.\d+)?")


def regression_share(given: str) -> float:
    """Return a share of one from a text in per cent: 0.05 of ``"5%"``.

    Raises ``BadInput``: the text is no such share.
    """
    try:
        return parse_share(given)
    except ValueError as error:
        meant = f'; did you mean "{given}%"?' if A_NUMBER.fullmatch(given.strip()) else ""
        raise BadInput(f"--fail-on-regression: {error}{meant}") from None
