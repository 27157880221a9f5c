"""Machine types as data."""

import pytest

from loadcurve.errors import BadInput
from loadcurve.host.cgroups import Limits
from loadcurve.host.machines import machine_table

GIB = 1 << 30


@pytest.mark.parametrize(
    ("name", "vcpus", "memory_gib", "price_usd_per_hour"),
    [
        ("t2.micro", 1, 1, 0.0116),
        ("t2.small", 1, 2, 0.023),
        ("t2.medium", 2, 4, 0.0464),
        ("t2.large", 2, 8, 0.0928),
        ("t2.xlarge", 4, 16, 0.1856),
        ("t3.large", 2, 8, 0.0832),
        ("m4.large", 2, 8, 0.10),
        ("c4.large", 2, 3.75, 0.10),
    ],
)
def test_the_machine_types_are_those_that_were_published(
    name: str, vcpus: int, memory_gib: float, price_usd_per_hour: float
) -> None:
    machine = machine_table().machine(name)
    assert (machine.vcpus, machine.price_usd_per_hour) == (vcpus, price_usd_per_hour)
    assert machine.limits() == Limits(cpus=vcpus, memory_bytes=int(memory_gib * GIB), period_us=10_000)


def test_prices_have_a_date_and_a_place() -> None:
    table = machine_table()
    assert (table.date.year, table.date.month) == (2020, 12)
    assert "Ohio" in table.region


def test_an_unknown_machine_type_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(BadInput, match=r"t2\.micor.*did you mean.*t2\.micro"):
        machine_table().machine("t2.micor")
