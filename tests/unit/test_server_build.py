"""Building servers from source: when, how often, and what is reported when it fails."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from loadcurve.server.build import Build, build_of
from loadcurve.server.catalog import CatalogEntry, load_catalog, read_entry
from loadcurve.server.check import catalog_rows
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import FoundServer, MissingServer, Overrides, find_server

DESCRIPTION = """
title = "Tiny"
documentation = "https://example.org/"
build = ["{tool}", "{{entry}}/build.sh", "{{build}}"]
binary = ["{{build}}/tiny"]
start = ["{{binary}}"]
[version]
command = ["{{binary}}"]
pattern = 'tiny (\\S+)'
[install]
everywhere = "get the tool"
"""
PROGRAM = """printf '#!/bin/sh\\necho tiny 1.0\\n' > "$1/tiny"; chmod +x "$1/tiny"\n"""

Written = Callable[..., CatalogEntry]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """Write a server that a shell script builds, and keep what is built below the test's own folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def write(script: str = "", tool: str = "/bin/sh") -> CatalogEntry:
        folder = tmp_path / "catalog" / "tiny"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "server.toml").write_text(DESCRIPTION.format(tool=tool))
        (folder / "build.sh").write_text(f"echo built >> '{tmp_path}/builds'\n{script}\n{PROGRAM}")
        return read_entry(folder)

    return write


@pytest.fixture
def builds(tmp_path: Path) -> Callable[[], int]:
    """Count how often the script has run."""
    return lambda: len((tmp_path / "builds").read_text().splitlines())


def building(entry: CatalogEntry) -> Build:
    build = build_of(entry)
    assert build is not None
    return build


def silent(_text: str) -> None:
    pass


def test_a_server_is_found_once_it_is_built(tiny):
    entry = tiny()
    missing = find_server(entry, {})
    assert isinstance(missing, MissingServer)
    missing.build.run(silent)
    found = find_server(entry, {})
    assert isinstance(found, FoundServer)
    assert (found.version, found.binary) == ("1.0", missing.build.folder / "tiny")


def test_a_server_run_by_a_program_of_the_machine_is_built_before_it_is_found_and_whichever_runs_it(
    tiny, builds, tmp_path
):
    entry = tiny('mkdir "$1/classes"')
    file = entry.folder / "server.toml"
    text = file.read_text().replace('binary = ["{build}/tiny"]', 'binary = ["sh"]')
    text = text.replace('["{binary}"]\npattern', '["{classes}/../tiny"]\npattern')
    file.write_text(f'{text}[folders]\nclasses = ["{{build}}/classes"]\n')
    entry = read_entry(entry.folder)
    other = tmp_path / "other"
    other.symlink_to("/bin/sh")
    for overrides in (Overrides(), Overrides(binary=other)):
        assert isinstance(find_server(entry, {}, overrides), MissingServer)
    building(entry).run(silent)
    for overrides, name in ((Overrides(), "sh"), (Overrides(binary=other), "other")):
        found = find_server(entry, {}, overrides)
        assert isinstance(found, FoundServer)
        assert (found.version, found.binary.name) == ("1.0", name)
        assert found.parts == {"classes": building(entry).folder / "classes"}
    assert builds() == 1


def test_a_server_is_built_once_and_only_then_is_it_said(tiny, builds):
    said: list[str] = []
    for _ in range(3):
        building(tiny()).run(said.append)
    assert (builds(), said) == (1, ["building tiny …"])


def test_two_runs_at_once_build_once(tiny, builds, tmp_path):
    asked = [tmp_path / "first", tmp_path / "second"]
    # The build ends only when both have asked for it.
    entry = tiny(f"until [ -e {asked[0]} ] && [ -e {asked[1]} ]; do sleep 0.01; done")
    with ThreadPoolExecutor(2) as threads:
        for run in [threads.submit(building(entry).run, lambda _, file=file: file.touch()) for file in asked]:
            run.result(timeout=30)
    assert builds() == 1


def test_changed_sources_are_built_anew_beside_what_was_built_before(tiny, builds):
    old = building(tiny())
    old.run(silent)
    new = building(tiny("true"))
    assert new.folder != old.folder
    assert not new.is_done()
    new.run(silent)
    assert (builds(), old.is_done()) == (2, True)


def build_one_after_the_other(tiny, count):
    """Build ``count`` states of the sources, a second apart by the files' clock; return their folders."""
    folders = []
    for number in range(1, count + 1):
        build = building(tiny(f"# state {number}"))
        build.run(silent)
        os.utime(build.folder / "done", (number, number))
        folders.append(build.folder)
    return folders


def test_only_the_newest_builds_of_a_server_are_kept(tiny, tmp_path):
    other_server = tmp_path / "cache" / "loadcurve" / "tiny-too-0123456789abcdef"
    other_server.mkdir(parents=True)
    (other_server / "lock").touch()
    folders = build_one_after_the_other(tiny, 5)
    assert [folder.exists() for folder in folders] == [False, False, True, True, True]
    assert other_server.exists()


def test_a_build_that_failed_goes_before_one_that_is_used(tiny):
    with pytest.raises(ServerFailure):
        building(tiny("exit 1")).run(silent)
    failed = building(tiny("exit 1")).folder
    folders = build_one_after_the_other(tiny, 3)
    assert not failed.exists()
    assert all(folder.exists() for folder in folders)


USES_A_BUILD = """
import sys
from pathlib import Path
from loadcurve.server.catalog import read_entry
from loadcurve.server.found import find_server
print(find_server(read_entry(Path(sys.argv[1])), {}).version, flush=True)
sys.stdin.read()
"""


def test_a_build_that_another_run_uses_is_not_removed_before_that_ends(tiny):
    (used,) = build_one_after_the_other(tiny, 1)
    command = [sys.executable, "-c", USES_A_BUILD, tiny("# state 1").folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout.readline() == "1.0\n"
        build_one_after_the_other(tiny, 5)
        assert (used / "tiny").exists()
        user.stdin.close()
    build_one_after_the_other(tiny, 6)
    assert not used.exists()


def test_a_file_of_another_name_is_another_source(tiny):
    entry = tiny()
    (entry.folder / "one").touch()
    folder = building(entry).folder
    (entry.folder / "one").rename(entry.folder / "two")
    assert building(entry).folder != folder


def test_neither_the_description_nor_what_a_tool_left_there_is_a_source(tiny):
    entry = tiny()
    folder = building(entry).folder
    (entry.folder / "target" / "debug").mkdir(parents=True)
    (entry.folder / "target" / "CACHEDIR.TAG").touch()
    (entry.folder / "target" / "debug" / "tiny").touch()
    with (entry.folder / "server.toml").open("a") as description:
        description.write("# another remark\n")
    assert building(entry).folder == folder


def test_a_failure_is_reported_with_the_last_lines_and_nothing_of_it_is_used(tiny):
    entry = tiny(PROGRAM + "seq 100; exit 3")
    with pytest.raises(ServerFailure) as caught:
        building(entry).run(silent)
    assert caught.value.code == "not_built"
    assert "Tiny could not be built: `/bin/sh " in caught.value.text
    assert "ended with status 3" in caught.value.text
    assert caught.value.log_tail.splitlines() == [str(number) for number in range(81, 101)]
    assert isinstance(find_server(entry, {}), MissingServer)


def test_a_failed_build_is_tried_again(tiny, tmp_path):
    entry = tiny(f"[ -e {tmp_path}/mended ] || exit 1")
    with pytest.raises(ServerFailure):
        building(entry).run(silent)
    (tmp_path / "mended").touch()
    building(entry).run(silent)
    assert isinstance(find_server(entry, {}), FoundServer)


def test_a_cache_that_cannot_be_written_is_named(tiny, tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.raises(ServerFailure, match=f"could not be built: {tmp_path}/cache.*: Not a directory"):
        building(tiny()).run(silent)


def test_without_its_tool_a_server_is_missing_and_the_hint_is_about_the_tool(tiny):
    missing = find_server(tiny(tool="no-such-tool-anywhere"), {})
    assert isinstance(missing, MissingServer)
    assert missing.build is None
    assert "built from source with no-such-tool-anywhere, which was not found" in missing.reason
    assert missing.install == "get the tool"


def test_a_given_program_is_not_built(tiny, tmp_path):
    program = tmp_path / "mine"
    program.write_text("#!/bin/sh\necho tiny 2.0\n")
    program.chmod(0o755)
    found = find_server(tiny(), {}, Overrides(binary=program))
    assert isinstance(found, FoundServer)
    assert found.version == "2.0"


def test_the_catalogue_says_what_is_not_built_and_how_it_is(tiny):
    catalog = tiny().folder.parent
    (row,) = [row for row in catalog_rows(load_catalog([catalog])) if row.name == "tiny"]
    assert (row.status, row.found) == ("not built", None)
    assert row.install == f"loadcurve servers check tiny --catalog {catalog}"
