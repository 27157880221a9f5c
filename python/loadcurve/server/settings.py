"""The settings of a server: what ``server.toml`` declares, and what a study may give."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from loadcurve.errors import BadInput, sentence
from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import nearest, show
from loadcurve.toml.quantities import (
    DURATION_IN_WORDS,
    SIZE_IN_WORDS,
    parse_duration_s,
    parse_size_bytes,
)

AUTO = "auto"
"""The value of a counting setting that stands for the number of the server's CPUs."""

SettingValue = bool | int | float | str


class BooleanSetting(TomlTable):
    """A setting that is on or off."""

    type: Literal["boolean"]
    default: bool
    doc: str

    def accept(self, value: object) -> SettingValue:
        """Return the value as it is kept; raises ValueError that says what is expected."""
        if not isinstance(value, bool):
            raise ValueError("expected true or false")  # noqa: TRY004 -- pydantic wants a ValueError
        return value


class IntegerSetting(TomlTable):
    """A whole number within limits.

    Where ``auto`` is true, "auto" and 0 stand for the number of CPUs that the server may run on.
    """

    type: Literal["integer"]
    default: int | Literal["auto"]
    minimum: int = 0
    maximum: int | None = None
    auto: bool = False
    doc: str

    def accept(self, value: object) -> SettingValue:
        """Return the value as it is kept; raises ValueError that says what is expected."""
        if self.auto and (value == AUTO or (value == 0 and not isinstance(value, bool))):
            return AUTO
        if isinstance(value, int) and not isinstance(value, bool) and self._in_range(value):
            return value
        upper = "" if self.maximum is None else f" and at most {self.maximum}"
        alternative = f', or "{AUTO}"' if self.auto else ""
        raise ValueError(f"expected a whole number of at least {self.minimum}{upper}{alternative}")

    def _in_range(self, value: int) -> bool:
        return value >= self.minimum and (self.maximum is None or value <= self.maximum)


class TextSetting(TomlTable):
    """A text, one of ``choices`` where these are given."""

    type: Literal["text"]
    default: str
    choices: list[str] | None = None
    doc: str

    def accept(self, value: object) -> SettingValue:
        """Return the value as it is kept; raises ValueError that says what is expected."""
        if not isinstance(value, str):
            raise ValueError("expected a text in quotes")  # noqa: TRY004 -- as above
        if self.choices is not None and value not in self.choices:
            raise ValueError("expected one of " + ", ".join(f'"{choice}"' for choice in self.choices))
        return value


class ShareSetting(TomlTable):
    """A part of a whole, from 0 to 1."""

    type: Literal["share"]
    default: float = Field(ge=0, le=1)
    doc: str

    def accept(self, value: object) -> SettingValue:
        """Return the value as it is kept; raises ValueError that says what is expected."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ValueError("expected a number from 0 to 1")
        return value


class QuantitySetting(TomlTable):
    """A duration or a size; the server is given the text as it was written."""

    type: Literal["duration", "size"]
    default: str
    doc: str

    def accept(self, value: object) -> SettingValue:
        """Return the value as it is kept; raises ValueError that says what is expected."""
        # Seconds or bytes, without the exponent that a float's own text may have.
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        text = f"{Decimal(str(value)):f}" if is_number else value
        parse, in_words = _QUANTITIES[self.type]
        try:
            if isinstance(text, str):
                parse(text)
                return text
        except ValueError:
            pass
        raise ValueError(f"expected {in_words}")


_QUANTITIES = {
    "duration": (parse_duration_s, DURATION_IN_WORDS),
    "size": (parse_size_bytes, SIZE_IN_WORDS),
}

AnySetting = BooleanSetting | IntegerSetting | TextSetting | ShareSetting | QuantitySetting


def _with_accepted_default(setting: AnySetting) -> AnySetting:
    setting.accept(setting.default)
    return setting


Setting = Annotated[AnySetting, Field(discriminator="type"), AfterValidator(_with_accepted_default)]


class UnusableSetting(BadInput):
    """A given setting is not declared, or its value does not fit; ``setting`` is its name."""

    def __init__(self, setting: str, text: str) -> None:
        """Make the error of one setting."""
        super().__init__(text)
        self.setting = setting


class UnsupportedVersion(UnusableSetting):
    """The version of a server that was found cannot have its settings.

    ``what`` says which those are, and ``reason`` why, in the words of the catalogue.
    """

    def __init__(self, setting: str, what: str, reason: str) -> None:
        """Make the error of one setting."""
        super().__init__(setting, f"{what}: {reason}")
        self.what, self.reason = what, reason


def choose_settings(
    server: str, declared: Mapping[str, Setting], given: Mapping[str, object]
) -> dict[str, SettingValue]:
    """Return every declared setting with the given value or its default; "auto" stays "auto".

    Raises UnusableSetting where a given setting is not declared or its value does not fit.
    """
    for name, value in given.items():
        if name not in declared:
            text = unknown_name(f"The server {server} has no setting `{name}`", name, declared)
            raise UnusableSetting(name, text)
        try:
            declared[name].accept(value)
        except ValueError as error:
            text = sentence(f"The setting `{name}` of the server {server} is {show(value)}: {error}")
            raise UnusableSetting(name, text) from None
    return {name: setting.accept(given.get(name, setting.default)) for name, setting in declared.items()}


def fit_to_cpus(
    declared: Mapping[str, Setting], chosen: Mapping[str, SettingValue], cpu_count: int
) -> dict[str, SettingValue]:
    """Return chosen settings with "auto" in a counting setting replaced by the number of CPUs."""
    return {
        name: cpu_count if value == AUTO and isinstance(declared[name], IntegerSetting) else value
        for name, value in chosen.items()
    }


def unknown_name(statement: str, name: str, known: Iterable[str]) -> str:
    """Complete a statement about an unknown name with the names that are known, and the nearest of them."""
    names = sorted(known)
    return f"{statement}; known are {', '.join(names) or 'none'}{nearest(name, names)}"
