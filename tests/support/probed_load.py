"""A load for the probe to have looked at."""

import time

from loadcurve.result.load import LoadResult
from support import synthetic_run as synthetic


def load_of(length_s: float) -> LoadResult:
    """A load whose window has lasted so long until now."""
    start_s = time.monotonic() - length_s
    changes = {"window_start_monotonic_s": start_s, "duration_s": length_s}
    return LoadResult.model_validate(synthetic.load_result("nginx", 1, **changes))
