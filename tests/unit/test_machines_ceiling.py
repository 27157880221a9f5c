"""What one load machine, and two, and more together reach, and what that says of the first."""

import pytest
from rich.console import Console

from loadcurve.report.doctor import machines_ceiling_table
from loadcurve.result.outcomes import Verdict
from loadcurve.result.rig import MachinesCeiling, MachinesCeilingPoint
from loadcurve.runs.machines_ceiling import counts_up_to


def ceiling(*rates: tuple[float, float, float]) -> MachinesCeiling:
    """Make one of the lowest, the median and the highest rate of 1, 2, 4 … machines."""
    points = [
        MachinesCeilingPoint(
            machines=[f"m{machine}" for machine in range(2**power)],
            runs=5,
            requests_per_s=median,
            lowest_requests_per_s=low,
            highest_requests_per_s=high,
            generator_cpu_share=0.5,
            verdict=Verdict(status="valid", reasons=[]),
        )
        for power, (low, median, high) in enumerate(rates)
    ]
    return MachinesCeiling(
        measured_at="2026-01-01T00:00:00Z",
        server_machine="here",
        connections=128,
        body_bytes=1024,
        points=points,
    )


def said(ceiling: MachinesCeiling) -> str:
    console = Console(width=80, no_color=True)
    with console.capture() as capture:
        console.print(machines_ceiling_table(ceiling))
    return " ".join(capture.get().split())


@pytest.mark.parametrize(
    ("most", "counts"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (4, [1, 2, 4]), (7, [1, 2, 4, 7])]
)
def test_machines_are_doubled_up_to_all_of_them(most, counts):
    assert counts_up_to(most) == counts


def test_a_second_machine_that_reaches_more_shows_that_the_first_was_the_limit():
    words = said(ceiling((90, 100, 110), (180, 200, 210)))
    assert "2 machines reached 2.00 times what the first reached: fewer machines are the limit" in words


def test_a_difference_within_the_spread_of_the_loads_is_none():
    words = said(ceiling((90, 100, 110), (109, 130, 140)))
    assert "reached no more than the first one, within the spread of its loads" in words


def test_the_fewest_machines_that_are_enough_are_named():
    words = said(ceiling((90, 100, 110), (180, 200, 210), (150, 205, 240)))
    assert "2 machines reached 2.00 times what the first reached, and more machines did not raise it" in words


def test_one_machine_alone_shows_nothing_of_whether_it_is_the_limit():
    assert "name at least two" in said(ceiling((90, 100, 110)))
