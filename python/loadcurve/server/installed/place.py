"""Where installed servers are, and which of them are there."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from loadcurve.host.state import data_folder

FOLDER_VARIABLE = "LOADCURVE_SERVERS"
"""The variable that names another folder for installed servers."""
SYSTEM_FOLDER = Path("/var/lib/loadcurve/servers")
"""That of root, whose home other users cannot enter: a server that root starts runs as another user."""
MANIFEST = "installed.json"
"""The file in a server's folder that is written last."""
PROGRAMS = "bin"
UNPACKED = "packages"


@dataclass(frozen=True)
class Installed:
    """A server that was installed."""

    name: str
    folder: Path
    program: Path
    recipe_digest: str
    """By which recipe it was installed."""
    packages: tuple[str, ...]
    """Its packages with their versions, for a person."""


def servers_folder() -> Path:
    """Return the folder of installed servers: ``$LOADCURVE_SERVERS``, or that of this user's data."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser().absolute()
    if os.geteuid() == 0 and not os.environ.get("XDG_DATA_HOME"):
        return SYSTEM_FOLDER
    return data_folder() / "servers"


def installed_server(name: str, servers: Path | None = None) -> Installed | None:
    """Return an installed server; ``None`` where it is not there, or was left half installed."""
    folder = (servers or servers_folder()) / name
    try:
        said = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        program = folder / PROGRAMS / said["program"]
        packages = tuple(map(str, said["packages"]))
        found = Installed(name, folder, program, str(said["recipe"]), packages)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if os.access(program, os.X_OK) else None
