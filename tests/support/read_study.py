"""A study file as its model, or as what is reported to the person about it; without anything around it."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.study.model import Study
from loadcurve.toml.document import read_toml_model


def read_study(path: Path) -> Study:
    return read_toml_model(path, Study)


def problems_of(path: Path) -> list[str]:
    """What is reported of a study that cannot be used, a line for each problem, without the file's name."""
    with pytest.raises(BadInput) as raised:
        read_study(path)
    return [line.removeprefix(str(path)) for line in str(raised.value).splitlines()]
