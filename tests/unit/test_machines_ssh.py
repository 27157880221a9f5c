"""The way to another machine: what ssh says, and what is brought along. A script stands for ssh here."""

import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from loadcurve.errors import NothingMeasured
from loadcurve.machines import agent_package, bring, wheels
from loadcurve.machines.channel import MachineLost
from loadcurve.machines.far_call import bootstrapped_of
from loadcurve.machines.ssh import SshMachine
from loadcurve.machines.table import MachineTable
from support.scripted_agent import known

HERE = {
    "python": [*sys.version_info[:3]],
    "processor": platform.machine(),
    "libc": [*platform.libc_ver()],
    "folder": "/home/bench/.cache/loadcurve/agent",
    "free_bytes": 1 << 40,
    "there": [],
}
"""What a machine like this one says of itself."""


@pytest.fixture
def ssh(tmp_path, monkeypatch):
    """Let a script of the shell stand for ssh."""

    def stand_in(script: str) -> SshMachine:
        program = tmp_path / "bin" / "ssh"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        return SshMachine("web", MachineTable(ssh="bench@web.example"))

    return stand_in


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("ssh: Could not resolve hostname web.example: Name or service not known", "check the name"),
        ("bench@web.example: Permission denied (publickey).", "ssh-copy-id bench@web.example"),
        ("Host key verification failed.", "connect once by hand"),
        (
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
            "make sure that it is the same machine",
        ),
        ("ssh: connect to host web.example port 22: Connection refused", "sshd does not listen"),
        ("ssh: connect to host web.example port 22: Connection timed out", "the firewalls on the way"),
        ("no Python 3 was found on PATH", "apt-get install python3"),
    ],
)
def test_what_ssh_says_is_reported_with_what_was_tried_and_what_to_do(ssh, said, advice):
    machine = ssh(f"cat >&2 <<'END'\n{said}\nEND\nexit 255")
    with pytest.raises(MachineLost, match=r"^machine web: ") as caught:
        machine.connect()
    text = str(caught.value)
    assert said in text
    assert advice in text
    assert "tried: ssh bench@web.example" in text
    assert caught.value.exit_code == 4


def test_the_agent_is_brought_once_and_then_found(ssh, tmp_path):
    # The last argument is the command for the shell there.
    machine = ssh('for command; do :; done; exec sh -c "$command"')
    with machine.connect() as channel:
        (folder,) = (tmp_path / "cache/loadcurve/agent").iterdir()
        assert channel.greeting.python == platform.python_version()
        environment = Path(f"/proc/{channel.greeting.pid}/environ").read_text()
        assert f"PYTHONPATH={folder}\0" in environment
    before = {file: file.stat().st_ctime_ns for file in folder.rglob("*.so")}
    assert before
    with machine.connect() as channel:
        assert channel.call(known("echo"))
    assert {file: file.stat().st_ctime_ns for file in folder.rglob("*.so")} == before
    assert machine.remove() == (str(folder.parent), [folder.name])
    assert not folder.parent.exists()


def test_what_is_brought_is_all_that_the_roles_import(ssh, tmp_path):
    machine = ssh('for command; do :; done; exec sh -c "$command"')
    machine.connect().close()
    (folder,) = (tmp_path / "cache/loadcurve/agent").iterdir()
    # Without the packages that are installed here.
    roles = "import importlib; from loadcurve.machines.agent import ROLES; "
    roles += "[*map(importlib.import_module, ROLES.values())]"
    subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(folder)!r}); {roles}"],
        check=True,
    )


def test_a_full_disk_is_reported_by_the_machine(ssh, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "loadcurve").write_text("not a folder")
    machine = ssh('for command; do :; done; exec sh -c "$command"')
    with pytest.raises(NothingMeasured, match=r"cannot be stored there: .*Not a directory"):
        machine.connect()


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        ({"python": [3, 9, 2]}, r"its python3 is 3\.9; 3\.11 or newer is required"),
        (
            {"processor": "riscv64"},
            "its processor is riscv64, but Loadcurve's programs here are compiled for",
        ),
        ({"libc": ["", ""]}, "its C library is an unknown one"),
        (
            {"libc": [platform.libc_ver()[0], "2.4"]},
            r"glibc 2\.4, but the programs of this installation need 2\.",
        ),
        ({"free_bytes": 1 << 20}, "has 1 MiB free"),
    ],
)
def test_a_machine_that_cannot_run_the_agent_is_refused_before_anything_is_sent(fact, words):
    sent: list[bytes] = []
    with pytest.raises(NothingMeasured, match=f"^machine web: .*{words}"):
        bring.brought("web", bootstrapped_of({**HERE, **fact}), sent.append)
    assert sent == []


OTHER = (3, sys.version_info.minor + 1)
"""Another Python than the one here."""


@pytest.fixture
def fetching(monkeypatch, tmp_path):
    """Let a script of the shell stand for pip, which is asked for packages; `$dest` is where they belong."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def stand_in(script: str) -> None:
        def command(requirement, python, staged):
            return [
                "sh",
                "-c",
                f"requirement=$1 python=$2 dest=$3; {script}",
                "sh",
                requirement,
                python,
                staged,
            ]

        monkeypatch.setattr(wheels, "_command", command)

    agent_package.made_package.cache_clear()
    yield stand_in
    agent_package.made_package.cache_clear()


def test_another_python_gets_packages_that_are_compiled_for_it_which_are_fetched_once(fetching, tmp_path):
    version, suffix = metadata.version("pydantic-core"), f"cpython-3{OTHER[1]}-x.so"
    with zipfile.ZipFile(tmp_path / "made.whl", "w") as wheel:
        wheel.writestr(f"pydantic_core/_pydantic_core.{suffix}", "compiled")
        wheel.writestr("pydantic_core/__init__.py", "")
    fetching(f'echo "$requirement $python" >> {tmp_path}/asked; cp {tmp_path}/made.whl "$dest"')
    for _ in range(2):
        # What another process of ours would have.
        agent_package.made_package.cache_clear()
        sent: list[bytes] = []
        bring.brought("web", bootstrapped_of({**HERE, "python": [*OTHER, 0]}), sent.append)
        order, archive = b"".join(sent).split(b"\n", 1)
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            names = files.getnames()
        own = [name for name in names if name.startswith("pydantic_core/")]
        assert sorted(own) == ["pydantic_core/__init__.py", f"pydantic_core/_pydantic_core.{suffix}"]
        # All else that is compiled is for every Python, or not needed.
        compiled = {name.partition("/")[0] for name in names if ".cpython-" in name and name not in own}
        assert compiled <= agent_package.RUNS_WITHOUT
        assert json.loads(order)["bytes"] == len(archive)
    assert (tmp_path / "asked").read_text() == f"pydantic-core=={version} {OTHER[0]}.{OTHER[1]}\n"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'ERROR: No matching distribution found' >&2; exit 1", "No matching distribution found"),
        ('echo junk > "$dest/made.whl"', "File is not a zip file"),
    ],
)
def test_another_python_for_which_packages_cannot_be_fetched_is_refused_with_both(fetching, script, said):
    fetching(script)
    own, its = (".".join(map(str, version)) for version in (sys.version_info[:2], OTHER))
    sent: list[bytes] = []
    with pytest.raises(NothingMeasured) as caught:
        bring.brought("web", bootstrapped_of({**HERE, "python": [*OTHER, 0]}), sent.append)
    text = str(caught.value)
    assert text.startswith(
        f"machine web: its Python is {its}, but Loadcurve's packages here are compiled for {own}"
    )
    assert said in text
    assert f"Install python{own} there, or run Loadcurve with Python {its} here" in text
    assert sent == []


def others_installed() -> list[str]:
    """The programs of other Pythons here that an agent could run in."""
    names = (f"python3.{minor}" for minor in range(11, 20) if minor != sys.version_info.minor)
    found = (shutil.which(name) for name in names)
    # Where a program only finds out which Python to run, as those of pyenv do, it is that one.
    asked = ([program, "-c", "import sys; print(sys.executable)"] for program in found if program)
    answers = (subprocess.run(words, capture_output=True, text=True, check=False) for words in asked)
    return [answer.stdout.strip() for answer in answers if answer.returncode == 0]


@pytest.mark.long
def test_the_agent_runs_in_another_python(ssh, tmp_path):
    if not (others := others_installed()):
        pytest.skip("needs another Python, such as python3.13")
    place = tmp_path / "there"
    place.mkdir()
    for name, program in (("python3", others[0]), ("sh", "/bin/sh")):
        (place / name).symlink_to(program)
    machine = ssh(f'for command; do :; done; PATH={place}; export PATH; exec sh -c "$command"')
    try:
        channel = machine.connect()
    except NothingMeasured as error:
        if "cannot be fetched" not in str(error):
            raise
        pytest.skip(str(error))
    with channel:
        assert channel.greeting.python != platform.python_version()
        server = channel.call(known("servers.prepare"), address="127.0.0.1")
        assert server["facts"]["kernel"] == os.uname().release
        channel.call(known("load.clock"), address="127.0.0.1")


def test_the_c_library_that_is_needed_is_that_of_the_newest_symbol_of_any_compiled_file(tmp_path):
    contents = {
        "old.so": b"\x7fELF...\0GLIBC_2.4\0GLIBC_2.9\0",
        "new.so": b"\x7fELF...\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_PRIVATE\0",
        "notes.txt": b"\0GLIBC_9.99\0",
    }
    files = [tmp_path / name for name in contents]
    for file in files:
        file.write_bytes(contents[file.name])
    assert agent_package.glibc_needed(files) == (2, 34)
    assert agent_package.glibc_needed([tmp_path / "notes.txt"]) == ()


def test_the_address_is_the_tables_or_that_of_the_host_that_ssh_connects_to(ssh):
    machine = ssh("echo user bench; echo hostname 127.0.0.1; echo port 22")
    assert machine.address() == "127.0.0.1"
    table = MachineTable(ssh="web.example", address="10.0.0.5")
    assert SshMachine("web", table).address() == "10.0.0.5"
