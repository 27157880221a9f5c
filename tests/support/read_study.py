"""A study file as its model, without anything around it."""

from pathlib import Path

from loadcurve.study.model import Study
from loadcurve.study.toml_document import read_toml_model


def read_study(path: Path) -> Study:
    return read_toml_model(path, Study)
