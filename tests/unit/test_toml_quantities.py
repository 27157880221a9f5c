"""Durations, sizes and shares as people write them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.toml.quantities import (
    parse_binary_size_bytes,
    parse_duration_s,
    parse_link_speed_bits_per_s,
    parse_share,
    parse_size_bytes,
)

NUMBERS = st.decimals(min_value=0, max_value=10**9, places=6)
DURATION_UNITS = {"us": "0.000001", "ms": "0.001", "s": "1", "m": "60", "h": "3600", "": "1"}
SIZE_UNITS = {
    "": 1,
    "B": 1,
    "kB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
}


@given(NUMBERS, st.sampled_from(["", " "]), st.sampled_from(sorted(DURATION_UNITS)))
def test_a_duration_is_the_float_nearest_to_the_decimal_product(number, space, unit):
    assert parse_duration_s(f"{number:f}{space if unit else ''}{unit}") == float(
        number * Decimal(DURATION_UNITS[unit])
    )


@pytest.mark.parametrize(
    "text", ["", "soon", "3 %", "-1s", "1 minute", "1S", "1e3s", "1.s", "1s2", "1" * 16, "٣s", "inf"]
)
def test_what_is_no_duration_is_refused_with_examples(text):
    with pytest.raises(ValueError, match=r"500ms"):
        parse_duration_s(text)


@given(st.integers(min_value=0, max_value=10**9), st.sampled_from(sorted(SIZE_UNITS)))
def test_a_size_is_its_number_times_its_unit(number, unit):
    assert parse_size_bytes(f"{number}{unit}") == number * SIZE_UNITS[unit]
    if SIZE_UNITS[unit] > 1:
        assert parse_size_bytes(f"{number}.5{unit}") == number * SIZE_UNITS[unit] + SIZE_UNITS[unit] // 2


@pytest.mark.parametrize("text", ["", "1KB", "3%", "1k", "-1B", "1 kilobyte", "1kb"])
def test_what_is_no_size_is_refused_with_examples(text):
    with pytest.raises(ValueError, match=r"1KiB"):
        parse_size_bytes(text)


def test_a_part_of_a_byte_is_refused():
    with pytest.raises(ValueError, match="whole number of bytes"):
        parse_size_bytes("0.3B")


@pytest.mark.parametrize(("text", "share"), [("3 %", 0.03), ("3%", 0.03), ("0.5 %", 0.005), ("100 %", 1.0)])
def test_shares_are_read_from_per_cent(text, share):
    assert parse_share(text) == share


@pytest.mark.parametrize("text", ["3", "3 percent", "%", "-3 %", "3 s", "3 %%"])
def test_what_is_no_share_is_refused(text):
    with pytest.raises(ValueError, match="is not a share in per cent"):
        parse_share(text)


@pytest.mark.parametrize(
    ("text", "bits_per_s"),
    [("1Gbit", 10**9), ("2.5 Gbit", 2_500_000_000), ("100Mbit", 10**8), ("56kbit", 56_000)],
)
def test_the_speed_of_a_link_is_read_in_bits_per_second(text, bits_per_s):
    assert parse_link_speed_bits_per_s(text) == bits_per_s


@pytest.mark.parametrize("text", ["", "1000", "1GB", "1Gb", "1gbit", "-1Gbit", "0Gbit", "fast", "1Gibit"])
def test_what_is_no_speed_of_a_link_is_refused(text):
    with pytest.raises(ValueError, match=r"2\.5Gbit|less than one bit"):
        parse_link_speed_bits_per_s(text)


@pytest.mark.parametrize(
    ("text", "size"), [("16MB", 16 << 20), ("64kB", 64 << 10), ("1GB", 1 << 30), ("1MiB", 1 << 20), ("7", 7)]
)
def test_a_size_of_postgresql_has_units_of_1024(text: str, size: int):
    # As its manual has it: 20.1.1, "the multiplier for memory units is 1024, not 1000".
    assert parse_binary_size_bytes(text) == size
