"""What the tests themselves must keep so that all of them can be collected by one command."""

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_no_two_files_of_tests_have_the_same_name():
    names = Counter(file.name for file in TESTS.rglob("test_*.py"))
    assert not [name for name, count in names.items() if count > 1]
