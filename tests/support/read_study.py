"""A study file as its model, or as what the person is told of it; without anything around it."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.study.model import Study
from loadcurve.toml.document import read_toml_model


def read_study(path: Path) -> Study:
    return read_toml_model(path, Study)


def problems_of(path: Path) -> list[str]:
    """What is told of a study that cannot be used, a line for each problem, without the name of the file."""
    with pytest.raises(BadInput) as raised:
        read_study(path)
    return [line.removeprefix(str(path)) for line in str(raised.value).splitlines()]
