"""Installing servers from packages in the formats of their registries, made here: nothing is downloaded."""

import hashlib
import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.server.catalog import load_catalog
from loadcurve.server.found import FoundServer, MissingServer, find_server
from loadcurve.server.installed.installation import install, remove
from loadcurve.server.installed.place import installed_server, servers_folder
from loadcurve.server.installed.recipe import Recipe
from support.wheels import write_wheel

SCRIPT = '#!/bin/sh\necho demo 1.2 "$@"\n'
OTHER_DIGEST = "0" * 64


def recipe_for(registry: str, file: Path, program: str | None, **more: object) -> Recipe:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    package = {"name": "demo", "version": "1.2", "sha256": digest}
    release = {"release": "bookworm"} if registry == "debian" else {}
    asked = {
        "name": "demo",
        "registry": registry,
        "machine": "any",
        "program": program,
        "packages": [package],
    }
    return Recipe.model_validate(asked | release | more)


def handing_over(*files: Path):
    """Fetch nothing: hand over these files, as a registry's tool leaves them."""

    def fetch(recipe: Recipe, folder: Path) -> list[Path]:
        return [
            Path(folder / file.name).write_bytes(file.read_bytes()) and folder / file.name for file in files
        ]

    return fetch


@pytest.fixture
def npm_file(tmp_path: Path) -> Path:
    file = tmp_path / "demo-1.2.tgz"
    with tarfile.open(file, "w:gz") as archive:
        entry = tarfile.TarInfo("package/bin/demo")
        entry.size, entry.mode = len(SCRIPT), 0o700
        archive.addfile(entry, io.BytesIO(SCRIPT.encode()))
    return file


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """Write a wheel: a module, and a script for the Python that runs it."""
    script = "#!python\nimport sys, demo_module\nprint(demo_module.SAID, *sys.argv[1:])\n"
    parts = {"demo_module.py": 'SAID = "demo 1.2"\n', "demo-1.2.data/scripts/demo": script}
    return write_wheel(tmp_path, "demo", "1.2", parts)


def debian_package(folder: Path) -> Path:
    root = folder / "root"
    (root / "DEBIAN").mkdir(parents=True)
    control = (
        "Package: demo\nVersion: 1.2\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: demo\n"
    )
    (root / "DEBIAN" / "control").write_text(control)
    program = root / "usr" / "sbin" / "demo"
    program.parent.mkdir(parents=True)
    program.write_text(SCRIPT)
    program.chmod(0o755)
    file = folder / "demo_1.2_all.deb"
    subprocess.run(["dpkg-deb", "--build", str(root), str(file)], check=True, capture_output=True)
    return file


def said_by(program: Path, *arguments: str) -> str:
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def left_in(servers: Path) -> set[str]:
    return {path.name for path in servers.iterdir()} - {".lock"} if servers.exists() else set()


def test_a_package_of_npm_is_unpacked_and_its_program_runs_for_other_users_too(npm_file, tmp_path):
    servers = tmp_path / "servers"
    recipe = recipe_for("npm", npm_file, "package/bin/demo")
    installed = install(recipe, servers, handing_over(npm_file))
    assert said_by(installed.program) == "demo 1.2"
    assert installed.program == servers / "demo" / "bin" / "demo"
    assert installed.packages == ("demo 1.2",)
    assert installed.program.stat().st_mode & 0o777 == 0o755
    assert left_in(servers) == {"demo"}


def test_pip_fetches_a_wheel_as_it_is_configured_which_finds_its_modules_wherever_it_is_started(
    wheel, tmp_path, monkeypatch
):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    installed = install(recipe_for("pypi", wheel, "bin/demo"), tmp_path / "servers")
    monkeypatch.chdir("/")
    assert said_by(installed.program, "one two", "$3") == "demo 1.2 one two $3"


def test_packages_of_pypi_without_a_program_are_for_python_which_finds_them_wherever_it_is_started(
    wheel, tmp_path, monkeypatch
):
    installed = install(recipe_for("pypi", wheel, None), tmp_path / "servers", handing_over(wheel))
    monkeypatch.chdir("/")
    assert installed.program == tmp_path / "servers" / "demo" / "bin" / "python3"
    assert said_by(installed.program, "-c", "import demo_module; print(demo_module.SAID)") == "demo 1.2"


def test_packages_of_npm_need_a_program(npm_file):
    with pytest.raises(ValueError, match="program is missing"):
        recipe_for("npm", npm_file, None)


@pytest.mark.needs("dpkg-deb")
def test_a_package_of_debian_is_unpacked_and_started_with_its_arguments_and_libraries(tmp_path):
    file = debian_package(tmp_path)
    recipe = recipe_for(
        "debian", file, "usr/sbin/demo", arguments=["-m", "{folder}/usr/lib"], libraries=["usr/lib"]
    )
    servers = tmp_path / "servers with spaces"
    installed = install(recipe, servers, handing_over(file))
    assert said_by(installed.program, "x") == f"demo 1.2 -m {servers}/demo/packages/usr/lib x"


def test_a_file_of_another_digest_leaves_nothing_and_both_digests_are_said(npm_file, tmp_path):
    recipe = recipe_for("npm", npm_file, "package/bin/demo")
    expected = recipe.packages[0].sha256
    other = tmp_path / "other" / npm_file.name
    other.parent.mkdir()
    other.write_bytes(npm_file.read_bytes() + b"\0")
    came = hashlib.sha256(other.read_bytes()).hexdigest()
    with pytest.raises(BadInput, match=f"SHA-256 is {came}; expected {expected}"):
        install(recipe, tmp_path / "servers", handing_over(other))
    assert left_in(tmp_path / "servers") == set()


def test_a_failed_replacement_leaves_the_installed_server_as_it_was(npm_file, tmp_path):
    servers = tmp_path / "servers"
    before = install(recipe_for("npm", npm_file, "package/bin/demo"), servers, handing_over(npm_file))
    with pytest.raises(BadInput, match="no program package/bin/gone"):
        install(recipe_for("npm", npm_file, "package/bin/gone"), servers, handing_over(npm_file))
    assert installed_server("demo", servers) == before
    assert said_by(before.program) == "demo 1.2"


def test_what_is_no_package_is_refused_by_the_name_of_its_file(tmp_path):
    file = tmp_path / "demo-1.2.tgz"
    file.write_bytes(b"<html>")
    recipe = recipe_for("npm", file, "package/bin/demo")
    with pytest.raises(BadInput, match=r"demo-1\.2\.tgz cannot be unpacked"):
        install(recipe, tmp_path / "servers", handing_over(file))
    assert left_in(tmp_path / "servers") == set()


def test_a_package_that_would_write_outside_its_folder_is_refused(tmp_path):
    file = tmp_path / "demo-1.2.tgz"
    with tarfile.open(file, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../../../escaped"))
    with pytest.raises(BadInput, match="outside the destination"):
        install(recipe_for("npm", file, "bin/demo"), tmp_path / "servers", handing_over(file))
    assert not list(tmp_path.rglob("escaped"))


def test_the_same_recipe_is_installed_once_and_another_one_replaces_it(npm_file, tmp_path):
    servers, asked = tmp_path / "servers", []

    def counting(recipe, folder):
        asked.append(recipe)
        return handing_over(npm_file)(recipe, folder)

    recipe = recipe_for("npm", npm_file, "package/bin/demo")
    assert install(recipe, servers, counting) == install(recipe, servers, counting)
    assert len(asked) == 1
    install(recipe_for("npm", npm_file, "package/bin/demo", arguments=["-x"]), servers, counting)
    assert len(asked) == 2
    assert said_by(servers / "demo" / "bin" / "demo") == "demo 1.2 -x"
    assert left_in(servers) == {"demo"}


def test_packages_for_another_processor_are_not_fetched(npm_file, tmp_path, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    recipe = recipe_for("npm", npm_file, "package/bin/demo", machine="x86_64")
    with pytest.raises(BadInput, match="are for x86_64, and this machine is riscv64"):
        install(recipe, tmp_path / "servers")


def test_a_removed_server_is_gone_and_a_second_removal_says_that_there_was_none(npm_file, tmp_path):
    servers = tmp_path / "servers"
    install(recipe_for("npm", npm_file, "package/bin/demo"), servers, handing_over(npm_file))
    assert remove("demo", servers)
    assert left_in(servers) == set()
    assert not remove("demo", servers)


def test_half_an_installation_of_a_killed_process_is_no_server_and_is_cleared_away(npm_file, tmp_path):
    servers = tmp_path / "servers"
    (servers / "demo" / "bin").mkdir(parents=True)
    (servers / ".installing-killed").mkdir()
    assert installed_server("demo", servers) is None
    install(recipe_for("npm", npm_file, "package/bin/demo"), servers, handing_over(npm_file))
    assert left_in(servers) == {"demo"}


@pytest.mark.parametrize(
    "changed",
    [
        {"program": "/usr/sbin/demo"},
        {"program": "usr/../../demo"},
        {"release": "trixie"},
        {"packages": [{"name": "--root=/", "version": "1.2", "sha256": OTHER_DIGEST}]},
        {"packages": [{"name": "demo", "version": "-1", "sha256": OTHER_DIGEST}]},
        {"packages": [{"name": "demo", "version": "1.2", "sha256": "abc"}]},
        {"packages": []},
    ],
)
def test_a_recipe_names_exact_packages_and_paths_that_stay_inside(npm_file, changed):
    with pytest.raises(ValueError, match=r"expected|String should match|at least 1"):
        recipe_for("npm", npm_file, **{"program": "package/bin/demo"} | changed)


ENTRY = """
title = "Demo"
binary = ["no-such-demo"]
start = ["{{binary}}", "{{port}}"]
[version]
command = ["{{binary}}"]
pattern = 'demo (\\S+)'
[recipe]
name = "demo"
registry = "npm"
machine = "any"
program = "package/bin/demo"
packages = [{{ name = "demo", version = "1.2", sha256 = "{digest}" }}]
"""


def test_studies_find_an_installed_server_where_path_has_none(npm_file, tmp_path, monkeypatch):
    monkeypatch.setenv("LOADCURVE_SERVERS", str(tmp_path / "servers"))
    catalog = tmp_path / "catalog" / "demo"
    catalog.mkdir(parents=True)
    digest = hashlib.sha256(npm_file.read_bytes()).hexdigest()
    (catalog / "server.toml").write_text(ENTRY.format(digest=digest))
    entry = load_catalog([catalog.parent])["demo"]
    missing = find_server(entry, {})
    assert isinstance(missing, MissingServer)
    assert f"none is installed in {tmp_path / 'servers'}" in missing.reason
    installed = install(entry.description.recipe, servers_folder(), handing_over(npm_file))
    found = find_server(entry, {})
    assert isinstance(found, FoundServer)
    assert (found.binary, found.version) == (installed.program, "1.2")
    own = tmp_path / "path" / "no-such-demo"
    own.parent.mkdir()
    own.symlink_to(installed.program)
    monkeypatch.setenv("PATH", f"{own.parent}:{os.environ['PATH']}")
    assert find_server(entry, {}).binary == own, "what PATH has goes before"


def test_the_folder_of_a_user_is_below_that_of_their_data(monkeypatch, tmp_path):
    monkeypatch.delenv("LOADCURVE_SERVERS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert servers_folder() == tmp_path / "loadcurve" / "servers"
    monkeypatch.setenv("LOADCURVE_SERVERS", "/srv/here")
    assert servers_folder() == Path("/srv/here")
