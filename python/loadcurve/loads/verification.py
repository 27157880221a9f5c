"""What the answers to a load must be: the type of a study's ``verify``."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, InstanceOf, PlainSerializer

from loadcurve.toml.expected import Expected, show
from loadcurve.toml.problems import own_problem


@dataclass(frozen=True)
class AnswerPattern:
    """A regular expression that matches somewhere in the text of each answer."""

    pattern: str


AnswerRule = Literal["content", "status"] | AnswerPattern
"""What an answer must be: the file of the content, of status 200, or that with a text that matches."""

VERIFY_IN_WORDS = '"content", "status" or a regular expression, such as { pattern = "Total: [0-9]+" }'


def _expression(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise own_problem(f"{show(value)} is not a regular expression: {error}") from None
    return value


Pattern = Annotated[str, AfterValidator(_expression), Expected("a regular expression in quotes")]


def _read(value: object) -> object:
    if isinstance(value, AnswerPattern) or value in ("content", "status"):
        return value
    if not isinstance(value, dict) or not isinstance(value.get("pattern"), str) or len(value) > 1:
        raise own_problem(f"found {show(value)}; expected {VERIFY_IN_WORDS}")
    return AnswerPattern(_expression(value["pattern"]))


def _recorded(rule: AnswerRule) -> object:
    return {"pattern": rule.pattern} if isinstance(rule, AnswerPattern) else rule


Verify = Annotated[
    Literal["content", "status"] | InstanceOf[AnswerPattern],
    BeforeValidator(_read),
    PlainSerializer(_recorded),
    Expected(VERIFY_IN_WORDS),
]
