"""Histograms as records have them, read back."""

from collections.abc import Sequence

from loadcurve._engine import percentile_curve
from loadcurve.errors import BadInput
from loadcurve.result.run_files import TRIALS_FILE


def merged_curve(histograms: Sequence[str], name: str) -> list[tuple[float, float]]:
    """Merge histograms of times; return (percentile 0 to 100, time in ms) of each value, rising.

    Raises ``BadInput``: one of them cannot be decoded; the text names them by ``name``.
    """
    try:
        return percentile_curve(list(histograms))
    except ValueError as error:
        raise BadInput(f"{name} in {TRIALS_FILE} cannot be decoded: {error}") from error
