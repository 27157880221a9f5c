"""From pydantic's errors to problems that name a key and say in plain words what was expected."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from loadcurve.toml.expected import UNKNOWN, Kind, alternatives, nearest, show, unknown_key

Element = TypeVar("Element")
KeyPath = tuple[str, ...]
"""The keys from the top of a document to a value; an element of an array has its index, in decimal."""

_OWN_PROBLEM = "problem"
_KEY_OF_A_TABLE = "[key]"

_BOUNDS_IN_WORDS = {
    "greater_than": " above {gt}",
    "greater_than_equal": " of at least {ge}",
    "less_than": " below {lt}",
    "less_than_equal": " of at most {le}",
    "string_too_short": " of at least {min_length} characters",
    "string_too_long": " of at most {max_length} characters",
    "string_pattern_mismatch": " that matches {pattern}",
    "too_short": ", and at least {min_length} of them",
    "too_long": ", and at most {max_length} of them",
}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a document."""

    path: KeyPath
    text: str


def never_used(uses: Iterable[tuple[KeyPath, bool]]) -> list[KeyPath]:
    """Return the places that nobody uses of those which several share, each once."""
    used: dict[KeyPath, bool] = {}
    for place, is_used in uses:
        used[place] = used.get(place, False) or is_used
    return [place for place, is_used in used.items() if not is_used]


def own_problem(text: str) -> PydanticCustomError:
    """Return the error by which a validator says, in its own words, what is wrong with its value."""
    return PydanticCustomError(_OWN_PROBLEM, "{text}", {"text": text})


def without_repetition(values: list[Element]) -> list[Element]:
    """Return a list, each element of which must be in it once; a validator."""
    for index, value in enumerate(values):
        if value in values[:index]:
            # The text of a value that TOML has no kind for, such as an address, is what the person wrote.
            shown = show(value if isinstance(value, (str, int, float)) else str(value))
            raise own_problem(f"{shown} is in the list twice; keep one")
    return values


def own_problems(problems: Sequence[Problem]) -> ValidationError:
    """Return the error by which a model's validator reports several problems; paths start at that model."""
    details = [
        InitErrorDetails(type=own_problem(problem.text), loc=problem.path, input=None) for problem in problems
    ]
    return ValidationError.from_exception_data(_OWN_PROBLEM, details)


def problems_of(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """Translate the errors of validating a document against ``model``; each key comes once.

    A value that fits none of several types has one error for each of them, all with the same expectation.
    """
    first_problems: dict[KeyPath, Problem] = {}
    for details in error.errors(include_url=False):
        problem = _translate(details, model)
        first_problems.setdefault(problem.path, problem)
    return list(first_problems.values())


@dataclass
class _Walk:
    """Follows an error's location through the model's types, to where the document has a key."""

    kind: Kind
    keys: list[str] = field(default_factory=list)
    known_keys: list[str] = field(default_factory=list)
    key_kind: Kind = UNKNOWN
    at_key: bool = False
    is_extra: bool = False
    """Whether the table does not name its last key, but takes others, too."""

    def step(self, part: str) -> None:
        """Go on to ``part``: a key, an index, or a label of pydantic's, which the document does not have."""
        if part == _KEY_OF_A_TABLE:
            self.kind, self.at_key = self.key_kind, True
        elif tagged := _member_with_tag(self.kind, part):
            self.kind = tagged
        elif not self._is_choice_of_values():
            self.keys.append(part)
            self.kind = self._inside(part)

    def _is_choice_of_values(self) -> bool:
        """Whether the next part is only the label of one of several types for the same value."""
        return self.kind.is_union and not any(map(_is_model, get_args(self.kind.type)))

    def _inside(self, part: str) -> Kind:
        self.is_extra = False
        if _is_model(self.kind.type):
            fields = {field.alias or name: field for name, field in self.kind.type.model_fields.items()}
            self.known_keys = list(fields)
            self.is_extra = part not in fields
            return Kind.of_field(fields[part]) if part in fields else _kind_of_extra(self.kind.type)
        if get_origin(self.kind.type) is dict:
            key, value = get_args(self.kind.type)
            self.key_kind = Kind.of(key)
            return Kind.of(value)
        if get_origin(self.kind.type) is list:
            (element,) = get_args(self.kind.type)
            return Kind.of(element)
        return UNKNOWN


def _kind_of_extra(model: type[BaseModel]) -> Kind:
    if model.model_config.get("extra") != "allow":
        return UNKNOWN
    extra = get_type_hints(model, include_extras=True)["__pydantic_extra__"]
    return Kind.of(get_args(Kind.of(extra).type)[-1])


def _is_model(type_: object) -> bool:
    return isinstance(type_, type) and issubclass(type_, BaseModel)


def _member_with_tag(kind: Kind, tag: str) -> Kind | None:
    """Return the model that ``tag`` stands for, where ``kind`` is a discriminated union."""
    if not kind.is_union:
        return None
    members = [*filter(_is_model, get_args(kind.type))]
    if any(tag in (name, field.alias) for one in members for name, field in one.model_fields.items()):
        # A key, though another key may have it as its value.
        return None
    for member in members:
        if any(tag in Kind.of_field(field).choices for field in member.model_fields.values()):
            return Kind(member)
    return None


def _translate(details: ErrorDetails, model: type[BaseModel]) -> Problem:
    walk = _Walk(Kind(model))
    for part in details["loc"]:
        walk.step(str(part))
    if details["type"] in ("union_tag_invalid", "union_tag_not_found"):
        return _wrong_tag(details, walk)
    return Problem(tuple(walk.keys), _text(details, walk))


def _wrong_tag(details: ErrorDetails, walk: _Walk) -> Problem:
    tag_key = details["ctx"]["discriminator"].strip("'")
    members = get_args(walk.kind.type)
    tags = [str(tag) for member in members for tag in Kind.of_field(member.model_fields[tag_key]).choices]
    expected = f"expected {alternatives([show(tag) for tag in tags])}"
    path = (*walk.keys, tag_key)
    if details["type"] == "union_tag_not_found":
        return Problem(path, f"missing; {expected}")
    found = details["input"][tag_key]
    return Problem(path, f"found {show(found)}; {expected}{nearest(str(found), tags)}")


def _text(details: ErrorDetails, walk: _Walk) -> str:
    kind, context = walk.kind, details.get("ctx", {})
    if details["type"] == _OWN_PROBLEM:
        return details["msg"]
    if details["type"] == "extra_forbidden":
        return unknown_key(walk.keys[-1], walk.known_keys)
    if details["type"] == "value_error" and kind.own_words is None:
        return str(context["error"])
    expected = kind.in_words()
    if kind.own_words is None and not kind.is_union:
        expected += _BOUNDS_IN_WORDS.get(details["type"], "").format(**context)
    if details["type"] == "missing":
        return f"missing; expected {expected}"
    found = walk.keys[-1] if walk.at_key else details["input"]
    meant = (
        nearest(walk.keys[-1], walk.known_keys)
        if walk.is_extra
        else nearest(str(found), list(map(str, kind.choices)))
    )
    return f"found {show(found)}; expected {expected}{meant}"
