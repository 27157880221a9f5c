"""The worked examples of CONTRIBUTING.md: their diffs apply to this tree, and what they add works there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
TEXT = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
EXAMPLES = {
    title: re.findall(r"^```diff\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for title, text in re.findall(
        r"^### (.+?)\n(.*?)(?=^##)", TEXT.partition("## Worked examples\n")[2], re.MULTILINE | re.DOTALL
    )
}
TESTED = ["A load option", "A finding", "A report section"]
TREE = ("python/loadcurve", "tests/support")
FILES = ("pyproject.toml", "tests/conftest.py", "tests/unit/conftest.py")


def apply(title: str, folder: Path) -> None:
    """Apply the diffs of an example in a folder, which has what they change."""
    for diff in EXAMPLES[title]:
        done = subprocess.run(
            ["git", "apply", "--verbose", "-"],
            input=diff,
            text=True,
            cwd=folder,
            capture_output=True,
            env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
            check=False,
        )
        assert done.returncode == 0, done.stderr


def copy_changed(title: str, folder: Path) -> None:
    """Copy the files that an example changes."""
    for name in re.findall(r"^--- a/(\S+)$", "".join(EXAMPLES[title]), re.MULTILINE):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PROJECT / name, folder / name)


def new_tests(title: str) -> list[str]:
    return re.findall(r"^\+\+\+ b/(tests/\S+\.py)$", "".join(EXAMPLES[title]), re.MULTILINE)


def test_there_are_four_examples_and_three_have_tests():
    assert list(EXAMPLES) == [*TESTED, "A database"]
    assert all(new_tests(title) for title in TESTED)


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_applies_to_this_tree(title, tmp_path):
    copy_changed(title, tmp_path)
    apply(title, tmp_path)


def copied_tree(folder: Path) -> Path:
    """Copy what Python runs, and what its tests need."""
    for name in TREE:
        shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "target"))
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PROJECT / name, folder / name)
    return folder


def run_in(folder: Path, *words: str) -> str:
    """Run Python on the packages of a copy."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "python")}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("title", TESTED)
def test_an_example_passes_its_own_tests(title, tmp_path):
    folder = copied_tree(tmp_path)
    copy_changed(title, folder)
    apply(title, folder)
    said = run_in(folder, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *new_tests(title))
    assert " passed" in said


@pytest.mark.long
def test_all_else_of_the_option_of_the_example_is_generated(tmp_path):
    folder = copied_tree(tmp_path)
    for name in ("docs", "crates/plan/src"):
        shutil.copytree(PROJECT / name, folder / name)
    copy_changed("A load option", folder)
    apply("A load option", folder)
    run_in(folder, "-m", "docs.generate")
    command = (
        "import sys; sys.argv = ['loadcurve', 'load', '--help']; from loadcurve.cli.main import main; main()"
    )
    assert "--connect-timeout TIME " in run_in(folder, "-c", command)
    for name in ("python/loadcurve/api/options.py", "docs/reference/study.md", "docs/reference/command.md"):
        assert re.search("connect.timeout", (folder / name).read_text(encoding="utf-8"))


@pytest.mark.long
def test_the_catalogue_takes_the_database_of_the_example(tmp_path):
    folder = copied_tree(tmp_path)
    apply("A database", folder)
    program = (
        "from loadcurve.server import catalog as c; print(c.load_catalog()['cockroachdb'].description.url)"
    )
    assert run_in(folder, "-c", program).startswith("postgresql://")
