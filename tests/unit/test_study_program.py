"""Where the program of a study lies, whose command has a relative path."""

from pathlib import Path

import pytest

from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from support.tiny_study import study_text


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["app/bin/serve"], "app/bin/serve"),
        (["bin/serve"], "bin/serve"),
        (["bin/serve", "app/bin/serve"], "bin/serve"),
        ([], "bin/serve"),
    ],
)
@pytest.mark.parametrize("table", ["servers.mine", "servers.mine.programs"])
def test_a_program_lies_in_the_studys_folder_or_else_where_it_works(
    tmp_path: Path, files: list[str], found: str, table: str
):
    (tmp_path / "app").mkdir()
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    head = f"[{table}]" if table == "servers.mine" else f'[[{table}]]\nname = "web"'
    (tmp_path / "study.toml").write_text(
        study_text(f'{head}\nstart = "bin/serve {{port}}"\ncwd = "app"'), encoding="utf-8"
    )
    server = TomlDocument.read(tmp_path / "study.toml").to_model(Study).servers["mine"]
    start = server.start or (server.programs or [])[0].start
    assert start == [str(tmp_path / found), "{port}"]
