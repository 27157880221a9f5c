"""Quantities as people read them, at the steps between digits and units."""

import pytest

from loadcurve import units


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1 kB"),
        (1_250_000, "1.25 MB"),
        (999_400, "999 kB"),
        (999_900, "1 MB"),
        (10**15, "1,000 TB"),
    ],
)
def test_a_size_is_below_a_thousand_of_its_unit_as_it_is_shown(size_bytes: int, shown: str):
    assert units.size(size_bytes) == shown


@pytest.mark.parametrize(
    ("kib", "shown"), [(0.5, "0.5 KiB"), (999.9, "1,000 KiB"), (1_023.4, "1,023 KiB"), (1_023.7, "1 MiB")]
)
def test_memory_is_below_1024_of_its_unit_as_it_is_shown(kib: float, shown: str):
    assert units.memory(kib * 1024) == shown
    assert units.memory_limit(kib * (1 << 20)) == shown.replace("MiB", "GiB").replace("KiB", "MiB")


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0 %"),
        (0.00009, "less than 0.01 %"),
        (0.00033, "0.033 %"),
        (0.00996, "1.0 %"),
        (0.0996, "10 %"),
        (0.5, "50 %"),
        (1.0, "100 %"),
    ],
)
def test_a_share_has_two_digits_after_it_is_rounded(share: float, shown: str):
    assert units.percent(share) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(14 * 86_400, "1209600"), (1_048_576, "1048576"), (0.25, "0.25"), (1_234_567.5, "1234567.5"), (0, "0")],
)
def test_a_typed_number_has_all_its_digits_and_no_power_of_ten(value: float, shown: str):
    assert units.typed(value) == shown


@pytest.mark.parametrize(("words", "shown"), [("", ""), ("abc", "abc"), ("abcd", "abcd"), ("abcde", "abc…")])
def test_a_text_that_is_too_long_is_cut_to_its_bound_and_the_dots_are_part_of_it(words: str, shown: str):
    assert units.cut(words, 4) == shown
