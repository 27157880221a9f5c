"""What records say of the programs and scripts that are measured."""

import hashlib
from pathlib import Path

from loadcurve.server.catalog import load_catalog
from loadcurve.server.found import FoundServer
from loadcurve.server.found_record import files_of_start


def found(program: Path, start: list[str]) -> FoundServer:
    return FoundServer(
        entry=load_catalog()["command"], binary=program, start=start, version="1", parts={}, settings={}
    )


def test_the_files_that_a_command_names_beside_its_program_are_digested(tmp_path: Path):
    program, script = tmp_path / "python", tmp_path / "app.py"
    program.write_bytes(b"program")
    script.write_bytes(b"print()")
    digest = hashlib.sha256(b"print()").hexdigest()
    start = [
        str(program),
        str(script),
        "--port",
        "{port}",
        "{private}/made",
        str(tmp_path),
        "--none=/no/file",
    ]
    assert files_of_start(found(program, start)) == {str(script): digest}
    assert files_of_start(found(program, [str(program), f"--config={script}"])) == {str(script): digest}


def test_a_folder_with_braces_in_its_name_is_found(tmp_path: Path):
    script = tmp_path / "{v1}" / "app.py"
    script.parent.mkdir()
    script.write_bytes(b"print()")
    word = str(script).replace("{", "{{").replace("}", "}}")
    assert list(files_of_start(found(Path("/bin/sh"), ["/bin/sh", word]))) == [str(script)]
