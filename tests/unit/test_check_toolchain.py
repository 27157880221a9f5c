"""What is missing to build is said at once, with the command that mends it, before anything is downloaded."""

import shutil
import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

SCRIPT = Path(__file__).parents[2] / "packaging" / "check-toolchain"
TOOLS = ("bash", "sort", "head", "tail", "tr", "cut", "df", "id", "env")
"""What the script itself uses of a system."""

OS_RELEASES = {
    "debian": "ID=debian\n",
    "ubuntu": "ID=ubuntu\nID_LIKE=debian\n",
    "fedora": "ID=fedora\n",
    "arch": "ID=arch\n",
    "other": 'ID="void"\n',
}
PYTHON = """#!/bin/bash
case "$2" in
    *version_info*) echo {version} ;;
    *ensurepip*) exit {venv} ;;
    *urllib*) echo "{network}"; [ -z "{network}" ] ;;
esac
"""


class Machine:
    """A machine that has these programs and no others."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.work = folder / "work"
        self.home = folder / "home"
        for place in (self.bin, self.work, self.home):
            place.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or tool)
        (self.bin / "id").unlink()
        self.has("id", "echo 1000")
        self.has_python()
        self.has("cc", "cat > /dev/null 2>&1; exit 0")
        self.has("cargo", "echo cargo 1.90.0")
        self.has("curl", "exit 1")
        self.lists = folder / "lists"
        self.lists.mkdir()
        (self.lists / "mirror_main_Packages").touch()

    def has(self, name: str, script: str) -> None:
        self._write(name, f"#!/bin/bash\n{script}\n")

    def has_python(self, name="python3", version="3.12", *, venv=0, network="") -> None:
        self._write(name, PYTHON.format(version=version, venv=venv, network=network))

    def _write(self, name: str, text: str) -> None:
        program = self.bin / name
        program.write_text(text)
        program.chmod(0o755)

    def lacks(self, name: str) -> None:
        (self.bin / name).unlink()

    def check(self, system="debian", **variables: str) -> subprocess.CompletedProcess[str]:
        release = self.work / "os-release"
        release.write_text(OS_RELEASES[system])
        return subprocess.run(
            [str(self.bin / "bash"), str(SCRIPT)],
            cwd=self.work,
            env={
                "PATH": str(self.bin),
                "HOME": str(self.home),
                "OS_RELEASE": str(release),
                "APT_LISTS": str(self.lists),
                "NEEDED_MB": "1",
            }
            | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    def said(self, system="debian", **variables: str) -> tuple[list[str], list[str]]:
        """What is missing, and the commands that mend it."""
        checked = self.check(system, **variables)
        assert (checked.returncode, checked.stdout) == (1, "")
        head, *lines = checked.stderr.splitlines()
        assert head == "loadcurve: this is missing to build it; nothing was downloaded:"
        mend = lines.index("To mend it:") if "To mend it:" in lines else len(lines)
        assert all(len(line) <= 80 or len(line.split()) == 1 for line in lines[:mend])
        problems = "\n".join(lines[:mend]).replace("\n    ", " ")
        return [*map(str.strip, problems.splitlines())], [*map(str.strip, lines[mend + 1 :])]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_where_nothing_is_missing_nothing_is_said(machine):
    checked = machine.check()
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("system", "command"),
    [
        ("debian", "sudo apt-get install gcc libc6-dev"),
        ("ubuntu", "sudo apt-get install gcc libc6-dev"),
        ("fedora", "sudo dnf install gcc"),
        ("arch", "sudo pacman -S gcc"),
    ],
)
def test_a_missing_compiler_is_a_package_of_the_system(machine, system, command):
    machine.lacks("cc")
    assert machine.said(system) == (["a C compiler is missing: there is no program cc"], [command])


def test_root_needs_no_sudo(machine):
    machine.has("id", "echo 0")
    machine.lacks("cc")
    assert machine.said()[1] == ["apt-get install gcc libc6-dev"]


def test_a_compiler_without_the_headers_of_the_c_library_is_found_out(machine):
    machine.has("cc", "cat > /dev/null 2>&1; exit 1")
    problems, commands = machine.said()
    assert "the headers of the C library are missing" in problems[0]
    assert commands == ["sudo apt-get install libc6-dev"]


@pytest.mark.parametrize(
    ("system", "command"),
    [("debian", "https://sh.rustup.rs"), ("fedora", "dnf install cargo"), ("arch", "pacman -S rust")],
)
def test_a_missing_cargo_comes_from_where_it_is_new_enough(machine, system, command):
    machine.lacks("cargo")
    problems, commands = machine.said(system)
    assert problems[0].startswith("cargo is missing")
    assert command in commands[0]
    assert commands[1:] == ([". ~/.cargo/env"] if system == "debian" else [])


def test_a_cargo_that_is_not_on_path_is_found(machine):
    machine.lacks("cargo")
    folder = machine.home / ".cargo" / "bin"
    folder.mkdir(parents=True)
    (folder / "cargo").touch(mode=0o755)
    problem = "cargo is installed in ~/.cargo/bin, which is not on PATH"
    assert machine.said() == ([problem], [". ~/.cargo/env"])


@pytest.mark.parametrize("version", ["1.87.0", "1.9.0", "0.66.0"])
def test_a_cargo_that_is_too_old_is_named_with_its_version(machine, version):
    machine.has("cargo", f"echo cargo {version}")
    problems, commands = machine.said()
    assert problems == [f"cargo is version {version}: 1.88 or newer is required"]
    assert "https://sh.rustup.rs" in commands[0]


def test_rustup_updates_a_cargo_of_its_own(machine):
    machine.has("cargo", "echo cargo 1.80.0")
    machine.has("rustup", "exit 1")
    assert machine.said()[1] == ["rustup update stable"]


def test_a_cargo_that_does_not_run_is_named_with_its_reason(machine):
    machine.has("cargo", "echo error: no default is configured. >&2; echo help >&2; exit 1")
    machine.has("rustup", "exit 1")
    problem = "cargo does not run: error: no default is configured."
    assert machine.said() == ([problem], ["rustup default stable"])


def test_what_the_commands_use_is_among_the_packages(machine):
    machine.lacks("cargo")
    machine.lacks("curl")
    assert machine.said()[1][0] == "sudo apt-get install curl"


def test_a_new_container_first_asks_which_packages_there_are(machine):
    (machine.lists / "mirror_main_Packages").unlink()
    machine.lacks("cc")
    assert machine.said()[1] == ["sudo apt-get update && sudo apt-get install gcc libc6-dev"]
    assert machine.said("fedora")[1] == ["sudo dnf install gcc"]


def test_a_missing_python_is_a_package_of_the_system(machine):
    machine.lacks("python3")
    assert machine.said("ubuntu")[1] == ["sudo apt-get install python3 python3-venv"]
    assert machine.said("fedora")[1] == ["sudo dnf install python3"]
    assert machine.said("arch")[1] == ["sudo pacman -S python"]


def test_an_old_python_is_named_and_a_newer_one_that_is_there_is_used(machine):
    machine.has_python(version="3.9")
    problems, commands = machine.said()
    assert problems == ["python3 is Python 3.9: 3.11 or newer is required"]
    assert commands[0] == "sudo apt-get install python3.11 python3.11-venv"
    machine.has_python("python3.13", "3.13")
    assert machine.said()[1] == ["make demo PYTHON=python3.13"]
    assert machine.check(PYTHON="python3.13").returncode == 0


def test_a_python_that_does_not_run_is_named_with_its_reason(machine):
    machine.has("python3", "echo 'pyenv: python3: command not found' >&2; exit 127")
    problems, commands = machine.said("fedora")
    assert problems == ["python3 does not run: pyenv: python3: command not found"]
    assert commands == ["sudo dnf install python3.12", "make demo PYTHON=python3.12"]


def test_the_module_venv_is_the_package_of_that_python(machine):
    machine.has_python(version="3.13", venv=1)
    problem = "the module venv of python3 is missing"
    assert machine.said() == ([problem], ["sudo apt-get install python3.13-venv"])


def test_too_little_disk_is_said_with_both_figures(machine):
    needed_mb = 1 << 40
    free_mb = shutil.disk_usage(machine.work).free >> 20
    problems, _ = machine.said(NEEDED_MB=str(needed_mb))
    assert problems[0].startswith(f"{needed_mb} MB of free disk are required in {machine.work}: ")
    assert abs(int(problems[0].split()[-4]) - free_mb) < 1 << 10
    far = machine.work / ("a" * 90)
    far.mkdir()
    machine.work = far
    assert str(far) in machine.check(NEEDED_MB=str(needed_mb)).stderr, "whole, to be copied"
    (machine.work / "target" / "demo").mkdir(parents=True)
    assert machine.check(NEEDED_MB=str(needed_mb)).returncode == 0


def test_the_disk_of_the_crates_is_checked_where_it_is_another_one(machine):
    machine.lacks("df")
    machine.has(
        "df",
        f"""case "$2" in
        {machine.home}*) echo /dev/b 100 60 40 60% /home ;;
        *) echo /dev/a 100000 0 100000 0% / ;;
    esac""",
    )
    problems, commands = machine.said(NEEDED_MB="3000")
    assert problems == [f"500 MB of free disk are required in {machine.home}: 40 MB are free"]
    assert commands == [f"du -xh {machine.home} | sort -h | tail    # shows what takes the most"]
    assert machine.check(NEEDED_MB="3000", CARGO_HOME=str(machine.work / "cargo" / "home")).returncode == 0
    assert machine.check(NEEDED_MB="3000", CRATES_MB="40").returncode == 0


def test_without_a_network_the_address_and_the_reason_are_said(machine):
    machine.has_python(network="Name or service not known")
    problems, commands = machine.said()
    assert problems == ["https://pypi.org/simple/ cannot be reached: Name or service not known"]
    assert commands[-1].startswith("make demo NETWORK_CHECK=no")
    for elsewhere in ("PIP_FIND_LINKS", "UV_OFFLINE", "CARGO_NET_OFFLINE"):
        assert machine.check(**{elsewhere: "1"}).returncode == 0
    assert machine.check(NETWORK_CHECK="no").returncode == 0
    assert machine.said(PIP_INDEX_URL="http://mirror/")[0][0].startswith("http://mirror/ cannot be reached")


def test_all_that_is_missing_is_said_at_once_with_one_command_for_its_packages(machine):
    machine.lacks("cc")
    machine.has_python(version="3.12", venv=1)
    machine.lacks("cargo")
    problems, commands = machine.said()
    assert len(problems) == 3
    assert commands[0] == "sudo apt-get install gcc libc6-dev python3.12-venv"
    assert len(commands) == 3


def test_a_system_that_is_not_known_gets_the_names_of_the_others(machine):
    machine.lacks("cc")
    problems, commands = machine.said("other")
    assert problems[1] == "(on Debian: gcc libc6-dev; on Fedora: gcc; on Arch: gcc)"
    assert commands == []


@pytest.fixture
def closed_port():
    with socket.socket() as bound:
        # As it does not listen, it refuses.
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_any_answer_is_a_network_and_none_is_none(machine, closed_port):
    """The script's own request: a refusal of the first address, and a proxy where nobody listens."""
    machine.lacks("python3")
    (machine.bin / "python3").symlink_to(sys.executable)
    refused = f"http://127.0.0.1:{closed_port}/"
    problem = "cannot be reached: [Errno 111] Connection refused"
    assert machine.said(PIP_INDEX_URL=refused)[0] == [f"{refused} {problem}"]
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        answering = f"http://127.0.0.1:{server.server_port}/"
        problems, _ = machine.said(PIP_INDEX_URL=answering, https_proxy=refused)
        server.shutdown()
    assert problems == [f"https://index.crates.io/config.json {problem}"]


@pytest.mark.parametrize(
    ("cpus", "words"),
    [(1, "5 to 15 minutes"), (2, "3 to 8 minutes"), (5, "1 to 3 minutes"), (16, "a minute")],
)
def test_the_time_of_a_first_build_is_a_range_for_the_cpus(monkeypatch, cpus, words):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    from install_editable import expected_minutes

    assert expected_minutes(cpus) == words


def test_a_build_for_a_demo_is_said_to_be_shorter(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    from install_editable import expected_minutes

    assert expected_minutes(1, demo=True) == "1 to 4 minutes"
