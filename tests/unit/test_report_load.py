"""The result of one load, for people."""

import io

import pytest
from rich.console import Console

from loadcurve.report.load import load_summary
from loadcurve.result.load import LoadResult
from support import synthetic_run as synthetic


def printed(lateness_ms: dict[str, float | None] | None) -> list[str]:
    result = synthetic.load_result("nginx", 10)
    generator = result["generator"] | {"lateness_ms": lateness_ms}
    output = io.StringIO()
    Console(file=output, width=80).print(
        load_summary(LoadResult.model_validate(result | {"generator": generator}))
    )
    return output.getvalue().splitlines()


@pytest.mark.parametrize(
    ("lateness_ms", "line"),
    [
        (
            {"p50": 0.004, "p99": 0.0509, "p99_9": 1.2, "max": 12.34},
            "lateness     0.004 ms (p50), 0.051 ms (p99), 1.200 ms (p99.9), 12.3 ms (max)",
        ),
        ({"p50": 0.004, "p99": None, "p99_9": None, "max": 2}, "lateness     0.004 ms (p50), 2.000 ms (max)"),
    ],
)
def test_lateness_is_told_at_the_percentiles_that_its_samples_bound(lateness_ms, line):
    assert [text.rstrip() for text in printed(lateness_ms) if text.startswith("lateness")] == [line]


def test_a_closed_loop_has_no_lateness_to_tell():
    assert not [text for text in printed(None) if "lateness" in text]
