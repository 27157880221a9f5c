"""The tools that are known: one folder of data for each, with a module where Loadcurve drives it."""

import functools
import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from loadcurve.errors import BadInput
from loadcurve.loads.kinds import LoadKind
from loadcurve.loads.values import ENGINE_NAME
from loadcurve.server.install import install_command_here
from loadcurve.server.versions import is_before
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.expected import nearest
from loadcurve.tools.driver import Bindings, DatabaseDriver, Driver, ToolRequest
from loadcurve.tools.process import environment_of_tools
from loadcurve.tools.table import ToolTable

_FOLDER = Path(__file__).parent
_DESCRIPTION = "tool.toml"
_VERSION_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Tool:
    """One tool, whether it is installed here or not."""

    name: str
    """That of its folder, with hyphens."""
    table: ToolTable

    @property
    def program(self) -> Path | None:
        """The first of its programs that is installed; ``None`` where none is."""
        for path in self._search_paths():
            for name in self.table.programs:
                if found := shutil.which(name, path=path):
                    return Path(found)
        return None

    def _search_paths(self) -> list[str | None]:
        """Return where its programs are looked for, where ``None`` is what the person's ``PATH`` says."""
        variable = self.table.home_variable
        home = os.environ.get(variable) if variable else None
        return [str(Path(home, "bin")), None] if home else [None]

    @property
    def install(self) -> str | None:
        """The command that installs it on this machine; ``None`` where none is known."""
        return install_command_here(self.table.install)

    def sends(self, kind: LoadKind) -> bool:
        """Say whether Loadcurve has it send loads of a kind."""
        return kind in self.table.kinds

    @property
    def driver(self) -> Driver[Any]:
        """Its module, which only a tool that can be asked for something has."""
        return cast(
            "Driver[Any]", importlib.import_module(f"{__package__}.{self.name.replace('-', '_')}.driver")
        )

    @property
    def bindings(self) -> Bindings:
        """How it is driven on databases, by what these speak; none where it is not."""
        return cast("DatabaseDriver", self.driver).BINDINGS if self.table.databases else {}

    @functools.cached_property
    def version(self) -> str | None:
        """What the installed program says of its version; ``None`` where it says nothing, or is missing."""
        source, program = self.table.version, self.program
        if source is None or program is None:
            return None
        command = [word.replace("{binary}", str(program)) for word in source.command]
        try:
            # Some print it beside an error, as an answer to an option that they do not have.
            shown = subprocess.run(  # noqa: S603 -- the command is the catalogue's
                command, capture_output=True, text=True, errors="replace", check=False,
                timeout=_VERSION_TIMEOUT_S, stdin=subprocess.DEVNULL, env=environment_of_tools(),
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return None
        found = re.search(source.pattern, shown.stdout + shown.stderr)
        return None if found is None else " ".join(found.groups())

    def require_installed(self) -> Path:
        """Return its program.

        Raises ``BadInput`` with the way to install it: there is none, or it is too old to be driven.
        """
        program = self.program
        how = f"; to install it: {self.install}" if self.install else f"; see {self.table.documentation}"
        if program is None:
            raise BadInput(f"{self.name} is not installed{how}")
        oldest, version = self.table.oldest_driven, self.version
        if oldest is not None and version is not None and is_before(version, oldest):
            raise BadInput(f"{program} is {self.name} {version}; expected {oldest} or newer{how}")
        return program

    def command(self, wanted: ToolRequest) -> list[str]:
        """Return the words that start it for a load.

        Raises ``BadInput``: it is not installed, or cannot put this load on a server.
        """
        known = {"{threads}": str(wanted.threads), "{files}": str(wanted.files)}
        given = []
        for name, text in self.table.environment.items():
            for place, value in known.items():
                text = text.replace(place, value)  # noqa: PLW2901 -- one place after the other
            given.append(f"{name}={text}")
        program = [str(self.require_installed()), *self.driver.arguments(wanted)]
        return ["env", *given, *program] if given else program


@functools.cache
def tools() -> Mapping[str, Tool]:
    """Return all tools by name, in alphabetical order."""
    files = sorted(_FOLDER.glob(f"*/{_DESCRIPTION}"))
    names = (file.parent.name.replace("_", "-") for file in files)
    return {name: Tool(name, _read(file)) for name, file in zip(names, files, strict=True)}


def driven_tools(kind: LoadKind | None = None) -> Mapping[str, Tool]:
    """Return those that Loadcurve drives, or has send loads of this kind."""
    driven = ((name, tool) for name, tool in tools().items() if tool.table.kinds)
    return {name: tool for name, tool in driven if kind is None or tool.sends(kind)}


def tool_named(name: str) -> Tool:
    """Return a tool that Loadcurve drives; raises ``BadInput`` where there is no such tool."""
    driven = driven_tools()
    if name in driven:
        return driven[name]
    known = [ENGINE_NAME, *driven]
    if name in tools():
        raise BadInput(f"{name} is known, but not driven; expected one of {', '.join(known)}")
    raise BadInput(f'found "{name}"; expected one of {", ".join(known)}{nearest(name, known)}')


def _read(file: Path) -> ToolTable:
    return TomlDocument.read(file).to_model(ToolTable)
