"""The studies that come with Loadcurve; a light module, for the shells' completion."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "studies"


def bundled_studies() -> dict[str, Path]:
    """Return the studies that come with Loadcurve, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}
