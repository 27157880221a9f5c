"""The studies that come with Loadcurve; a light module, for the shells' completion."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "studies"
STUDY_FILE = "study.toml"
"""The study's own file, in a folder with what belongs to it: published figures, claims, a description."""
SUITE_FILE = "suite.toml"
"""The file of a suite, in a folder with its studies, each in a separate file."""


def bundled_studies() -> dict[str, Path]:
    """Return the files of the studies that come with Loadcurve, those of suites too, by name."""
    of_suites = [
        file
        for suite in bundled_suites().values()
        for file in suite.parent.glob("*.toml")
        if file.name != SUITE_FILE
    ]
    found = [*FOLDER.glob("*.toml"), *FOLDER.glob(f"*/{STUDY_FILE}"), *of_suites]
    return dict(sorted((study_name(file), file) for file in found))


def bundled_suites() -> dict[str, Path]:
    """Return the files of the suites that come with Loadcurve, by name."""
    return dict(sorted((study_name(file), file) for file in FOLDER.glob(f"*/{SUITE_FILE}")))


def study_name(file: Path) -> str:
    """Return the name of a study or a suite: its folder's, unless the file has another name than is usual."""
    return file.absolute().parent.name if file.name in {STUDY_FILE, SUITE_FILE} else file.stem
