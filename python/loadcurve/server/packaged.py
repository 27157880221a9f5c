"""Where the packaged catalogue is; a light module, for the shells' completion."""

from pathlib import Path

PACKAGE_FOLDER = Path(__file__).resolve().parent.parent
PACKAGED_CATALOG = PACKAGE_FOLDER / "catalog"
DESCRIPTION_FILE = "server.toml"


def names_in(catalog: Path) -> list[str]:
    """Return the names of the servers that a catalogue describes."""
    return sorted(file.parent.name for file in catalog.glob(f"*/{DESCRIPTION_FILE}"))
