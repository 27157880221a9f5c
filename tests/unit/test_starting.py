"""Starting the command imports little: that is what makes help, a refusal and a shell's completion quick."""

import os
import subprocess
import sys

import pytest

MODULES = """
import atexit, sys
before = set(sys.modules)

def show():
    print()
    print(*(name for name, module in sys.modules.items() if module and name not in before))

sys.argv[0] = "loadcurve"
from loadcurve.cli.main import main
atexit.register(show)
main()
"""
LIBRARIES = {"annotated_doc", "shellingham", "typer"}
OWN_PACKAGES = {
    *("cli", "result", "server", "study"),
    *("errors", "exit_codes", "protocol", "redaction", "steering", "version"),
}
BASH = {"_LOADCURVE_COMPLETE": "complete_bash", "COMP_WORDS": "loadcurve run qui", "COMP_CWORD": "2"}
ZSH = {"_LOADCURVE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "loadcurve run --"}


@pytest.mark.parametrize(
    ("arguments", "environment", "code"),
    [
        (["--help"], {}, 0),
        ([], {}, 2),
        (["--version"], {}, 0),
        (["run", "--help"], {}, 0),
        (["load", "--help"], {}, 0),
        (["load", "--no-such-option"], {}, 2),
        (["no-such-command"], {}, 2),
        ([], BASH, 0),
        ([], ZSH, 0),
    ],
)
def test_what_runs_nothing_imports_no_more_than_the_command_line(arguments, environment, code):
    command = subprocess.run(
        [sys.executable, "-c", MODULES, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert command.returncode == code
    imported = {name for name in command.stdout.splitlines()[-1].split() if not name.startswith("__")}
    assert {name.split(".")[0] for name in imported} - sys.stdlib_module_names <= LIBRARIES | {"loadcurve"}
    own = {name.split(".")[1] for name in imported if name.startswith("loadcurve.")}
    assert "cli" in own
    assert own <= OWN_PACKAGES
