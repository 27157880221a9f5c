"""The studies that come with Loadcurve; a light module, for the shells' completion."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "studies"
STUDY_FILE = "study.toml"
"""The study's own file, in a folder with what belongs to it: published figures, claims, a description."""


def bundled_studies() -> dict[str, Path]:
    """Return the files of the studies that come with Loadcurve, by name."""
    found = [*FOLDER.glob("*.toml"), *FOLDER.glob(f"*/{STUDY_FILE}")]
    return dict(sorted((study_name(file), file) for file in found))


def study_name(file: Path) -> str:
    """Return the name of a study: that of its folder where the file is ``study.toml``, else the file's."""
    return file.absolute().parent.name if file.name == STUDY_FILE else file.stem
