"""The keys by which a server of a study runs in a container."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import Problem, own_problems
from loadcurve.toml.values import StudyPath, Text

EngineName = Literal["podman", "docker"]
Network = Literal["host", "private"]

Arguments = Annotated[list[Text], Expected('a list of texts, such as ["--runtime", "runc"]')]


class ContainerTable(TomlTable):
    """How a server runs in a container; without an engine it runs on this machine itself."""

    engine: EngineName | None = None
    """Runs the server in a container of this engine."""
    image: Text | None = None
    """The image by its name; unless it or `rootfs` is given, the entry's own Containerfile is built."""
    rootfs: StudyPath | None = None
    """A folder, or a tar file, with a root filesystem from which an image is made."""
    network: Network = "host"
    """The network of this machine, or a private one from which one port leads to 127.0.0.1."""
    port: Annotated[int, Field(ge=1, le=65535), Expected("a port, from 1 to 65535")] | None = None
    """The port of a server whose port cannot be set; otherwise a free port is chosen."""
    content_folder: Annotated[str, Field(pattern="^/"), Expected("an absolute path, in quotes")] | None = None
    """A second place of the content in the container, for a server whose folder cannot be set."""
    engine_arguments: Arguments = Field(default_factory=list)
    """Arguments of the engine, before each of its subcommands."""
    run_arguments: Arguments = Field(default_factory=list)
    """Further arguments of its subcommand `run`."""

    @model_validator(mode="after")
    def _keys_fit_together(self) -> Self:
        problems = list(self._misplaced())
        if problems:
            raise own_problems(problems)
        return self

    def _misplaced(self) -> Iterator[Problem]:
        if self.engine is None:
            for key in CONTAINER_KEYS - {"engine"}:
                if key in self.model_fields_set:
                    text = 'requires an engine: set engine = "podman" or engine = "docker"'
                    yield Problem((key,), text)
        elif self.image is not None and self.rootfs is not None:
            yield Problem(("rootfs",), "cannot be combined with image; keep one of the two")


CONTAINER_KEYS = frozenset(ContainerTable.model_fields)
"""What a study may say of a server's container."""
