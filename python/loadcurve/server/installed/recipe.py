"""What ``server.toml`` says of an installation: which packages of which registry, with their digests."""

import hashlib
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected

Registry = Literal["debian", "pypi", "npm"]

REGISTRY_NAMES: dict[Registry, str] = {"debian": "Debian", "pypi": "PyPI", "npm": "npm"}
"""What the registries are called in messages."""

PackageName = Annotated[
    str,
    Field(pattern=r"^[@A-Za-z0-9][A-Za-z0-9@/._+-]*$"),
    Expected('the name of a package, such as "nginx"'),
]
"""It begins with no dash, so that no tool takes it for an option."""
PackageVersion = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.:+~_-]*$"), Expected('an exact version, such as "1.26.3-3"')
]
Digest = Annotated[
    str, Field(pattern="^[0-9a-f]{64}$"), Expected("a SHA-256 digest of 64 hexadecimal digits in lower case")
]


def _inner(path: str) -> str:
    if any(part in {"", ".", ".."} for part in path.split("/")):
        raise ValueError(
            f'found "{path}"; expected a path in the unpacked packages, such as "usr/sbin/nginx"'
        )
    return path


InnerPath = Annotated[str, AfterValidator(_inner)]


class PinnedPackage(TomlTable):
    """One package by its exact version, and what its file must be."""

    name: PackageName
    """Its name in the registry."""
    version: PackageVersion
    """Its exact version."""
    sha256: Digest
    """The SHA-256 digest of its file, as hexadecimal digits."""

    @property
    def title(self) -> str:
        """The package in messages."""
        return f"{self.name} {self.version}"


class Recipe(TomlTable):
    """How ``loadcurve servers install`` gets a server: packages that are unpacked side by side."""

    name: Annotated[str, Field(pattern="^[a-z][a-z0-9-]*$")]
    """The folder that it is installed in; servers that share a program share it."""
    registry: Registry
    """Where the packages come from."""
    release: Annotated[str, Field(pattern="^[a-z]+$")] | None = None
    """The release of Debian that has the packages, such as `trixie`."""
    machine: Literal["x86_64", "any"] = "x86_64"
    """The processor that the packages are for."""
    program: InnerPath | None = None
    """The server's program among what was unpacked; of packages of PyPI without one, Python with them."""
    arguments: list[str] = Field(default_factory=list)
    """Arguments before all others; `{folder}` is where the packages are unpacked."""
    libraries: list[InnerPath] = Field(default_factory=list)
    """Folders with shared libraries that the program needs, among what was unpacked."""
    packages: Annotated[list[PinnedPackage], Field(min_length=1)]
    """The packages, in the order in which they are unpacked."""

    @model_validator(mode="after")
    def _check_release(self) -> Self:
        if (self.registry == "debian") != (self.release is not None):
            raise ValueError('release is the release of Debian: expected it with registry = "debian" alone')
        return self

    @model_validator(mode="after")
    def _check_program(self) -> Self:
        if self.program is None and self.registry != "pypi":
            raise ValueError('program is missing: expected it, unless registry = "pypi"')
        return self

    @property
    def digest(self) -> str:
        """The SHA-256 digest of all that the recipe says, by which an installation is known to follow it."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()
