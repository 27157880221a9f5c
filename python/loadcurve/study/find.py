"""Finding study files."""

from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.redaction import without_passwords
from loadcurve.result.run_files import RUN_FILE, has_several_loads
from loadcurve.study.bundled import STUDY_FILE, bundled_studies
from loadcurve.study.suite import find_suite, read_suite
from loadcurve.toml.expected import is_slip, nearest


def find_study(argument: str) -> Path:
    """Return the study file that ``argument`` names: a file, a study's folder, or a bundled study.

    A study that comes with Loadcurve goes by its name, with or without ``studies/`` and ``.toml``.

    Raises:
        BadInput: there is neither, and the text names the nearest study that comes with Loadcurve; or it is a
            run folder, a suite, or a URL, and the text has the lines of a study of it.

    """
    if "://" in argument:
        url = without_passwords(argument)
        raise BadInput(
            f"{url} is a URL, and not a study, which this command requires (`loadcurve load` takes a URL). "
            "Name the server that runs already in a study, such as one that `loadcurve init` writes:\n"
            f'  [servers.mine]\n  use = "url"\n  url = "{url}"'
        )
    path = Path(argument)
    if (suite := find_suite(argument)) is not None:
        raise BadInput(
            f"{argument} is a suite of several studies, which only `run` and `studies` take: name one of "
            f"them: {', '.join(read_suite(suite).studies)}"
        )
    if path.is_file():
        return path
    if (path / RUN_FILE).exists() or has_several_loads(path):
        raise BadInput(
            f"{path} is a run folder, and not a study: to measure again what its study says, which runs "
            f"commands, name that file: {path / STUDY_FILE}; to resume the run: --resume {path}"
        )
    if (path / STUDY_FILE).is_file():
        return path / STUDY_FILE
    if _bundled_name(argument) not in bundled_studies() and (meant := _file_meant(path)):
        raise BadInput(f"{argument}: there is no such file; did you mean {meant}?")
    return bundled_study(argument, "there is no such file, and ")


def _bundled_name(argument: str) -> str:
    return argument.removeprefix("studies/").removesuffix(".toml")


def _file_meant(file: Path) -> Path | None:
    """Return the file in the folder of one that is not there whose name is that one but for a slip."""
    there = {one.stem: one for one in sorted(file.parent.glob("*.toml"))}
    slips = [one for stem, one in there.items() if is_slip(file.name.removesuffix(".toml"), [stem])]
    return slips[0] if slips else None


def bundled_study(argument: str, otherwise: str = "there is ") -> Path:
    """Return the file of a study that comes with Loadcurve, by its name.

    Raises ``BadInput``: there is no such study; ``otherwise`` begins the sentence that says so.
    """
    bundled = bundled_studies()
    name = _bundled_name(argument)
    if name not in bundled:
        raise BadInput(
            f"{argument}: {otherwise}no bundled study of this name; bundled studies: "
            f"{', '.join(bundled)}{nearest(name, list(bundled))}"
        )
    return bundled[name]
