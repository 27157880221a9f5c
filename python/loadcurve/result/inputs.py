"""What a run was given: its study, the files that it names, catalogues, and the servers it left out."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from loadcurve.loads.kinds import WorkName
from loadcurve.record import Count, Many, Record

CATALOG_OPTION = "--catalog"
LeftOutReason = Literal["program", "image", "private key", "secret", "too large", "unreadable", "not used"]
_IN_WORDS: Mapping[LeftOutReason, str] = {
    "program": "a program",
    "image": "an image of a container",
    "private key": "a private key",
    "secret": "a secret",
    "too large": "too large to keep",
    "unreadable": "it could not be read",
}


class InputRecord(Record):
    """A file or a folder that a run was given beside its study."""

    key: str
    """What names it: a key of the study, such as ``load.body``, or ``--catalog``."""
    name: str
    """As the study or the option has it."""
    kept_as: str | None
    """Its copy, by its path from the run folder; ``None`` where it has none."""
    left_out: LeftOutReason | None = None
    """Why it has no copy."""
    bytes: Count | None = None
    """Its length, or that of all files of a folder; ``None`` of what has no copy."""
    sha256: str | None = None
    """Its digest, or that of the names and digests of all files of a folder."""


def with_kept_catalogs(options: Sequence[str], inputs: Sequence[InputRecord]) -> list[str]:
    """Return the options of a run with the copies of catalogues; one that was not used is left out."""
    of_catalogs = {one.name: one for one in inputs if one.key == CATALOG_OPTION}
    words: list[str] = []
    for place, word in enumerate(options):
        one = of_catalogs.get(word) if place and options[place - 1] == CATALOG_OPTION else None
        if one is None or one.kept_as is not None:
            words.append(word if one is None or one.kept_as is None else one.kept_as)
        elif one.left_out == "not used":
            words.pop()
        else:
            words.append(word)
    return words


def missing_in_words(inputs: Sequence[InputRecord]) -> list[str]:
    """Say what the folder lacks of its run's inputs, one sentence each."""
    return [
        f"{one.key}: {one.name} ({_IN_WORDS[one.left_out]})"
        for one in inputs
        if one.left_out is not None and one.left_out in _IN_WORDS
    ]


def digests_of(inputs: Sequence[InputRecord]) -> dict[str, str]:
    """Return the digest of each input that has one, by what names it."""
    return {f"{one.key} {one.kept_as}": one.sha256 for one in inputs if one.sha256 and one.kept_as}


def with_kept_names(value: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - any value that JSON has
    """Return a value in which each text that names a file of these has the name of its copy."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, dict):
        return {key: with_kept_names(one, names) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [with_kept_names(one, names) for one in value]
    return value


class LeftOut(Record):
    """The optional servers of a study that were not installed."""

    servers: Many[str]
    installable: Many[str]
    """Those that the command installs."""
    install: str | None
    """One command for all of these; ``None`` where no package of this system is known."""

    @property
    def names(self) -> str:
        """Which servers were left out, and why."""
        return f"left out, not installed: {', '.join(self.servers)}"

    @property
    def hint(self) -> str | None:
        """What the command is for; ``None`` where there is none."""
        if self.install is None:
            return None
        named = "them" if len(self.servers) > 1 else "it"
        return f"to add {named if self.installable == self.servers else ', '.join(self.installable)}"

    @property
    def words(self) -> str:
        """All of it in one line."""
        return self.names if self.hint is None else f"{self.names}; {self.hint}: {self.install}"


class _Shape(BaseModel):
    """What is read of a study in a run's record: with other types than these it is not a study.

    A record has the study with every default filled in, and what versions have added or removed since, so
    keys may be missing, and there may be more.
    """

    model_config = ConfigDict(extra="allow", frozen=True)


class _Load(_Shape):
    work: WorkName
    model: str | None = None


class _Server(_Shape):
    sweep: dict[str, Any] | None = None


class _Trials(_Shape):
    restart: str
    between_points: str | None = None
    count: int | None = None
    at_most: int | None = None
    measure: str | None = None
    until_share: float | None = None
    until_drop_share: float | None = None
    warmup: dict[str, Any] | None = None


class _Content(_Shape):
    folder: str | None = None


class _Study(_Shape):
    title: str | None = None
    question: str | None = None
    answer_by: str | None = None
    load: _Load
    sweep: dict[str, Any] = Field(default_factory=dict)
    trials: _Trials
    content: _Content | None = None
    servers: dict[str, _Server] = Field(default_factory=dict)


class _Host(_Shape):
    server_cpus: list[int] | None = None
    load_cpus: list[int] | None = None


def require_study(study: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` where what is read of a study is of another type than a study's."""
    _require(_Study, study)


def require_host(host: Mapping[str, Any]) -> None:
    """Raise the same of the facts of a machine."""
    _require(_Host, host)


def _require(shape: type[BaseModel], given: Mapping[str, Any]) -> None:
    try:
        shape.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}") from None
