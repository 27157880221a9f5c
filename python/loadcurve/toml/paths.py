"""Texts and paths, as a study file gives them."""

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationInfo

from loadcurve.toml.expected import Expected

Text = Annotated[str, Field(min_length=1), Expected("a text in quotes, not empty")]


def _from_the_studys_folder(value: object, info: ValidationInfo) -> object:
    """Return a path in quotes as an absolute one, which counts from the folder of the study file."""
    if not isinstance(value, str):
        return value
    return Path(info.context["folder"] if info.context else "", value).absolute()


StudyPath = Annotated[Path, BeforeValidator(_from_the_studys_folder), Expected("a path in quotes")]
