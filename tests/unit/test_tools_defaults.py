"""Options that keep a driven tool from its defaults are in its command; a table without one is refused."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.loads.http import ClosedLoad, OpenLoad, SessionsLoad
from loadcurve.loads.kinds import WEB
from loadcurve.loads.ycsb import DatabaseLoad, DatabaseLoadTable
from loadcurve.toml.document import TomlDocument
from loadcurve.tools.catalog import driven_tools, tool_named
from loadcurve.tools.defaults import KeptOff
from loadcurve.tools.driver import DatabaseToolRequest, WebToolRequest
from loadcurve.tools.table import ToolTable

TABLES = Path(tool_named("wrk").driver.__file__).parents[1]
OF_WEB = [
    (name, key, row.off_by)
    for name, tool in driven_tools(WEB).items()
    for key, row in tool.table.defaults.items()
    if isinstance(row, KeptOff)
]


def words(name: str, files: Path, **changes: object) -> str:
    model = tool_named(name).table.can.models[0]
    common = {"model": model, "requests": ["/"], "connections": 2, "duration": "1s"} | changes
    match model:
        case "closed":
            load = ClosedLoad.model_validate(common)
        case "open":
            load = OpenLoad.model_validate(common | {"rate": 10})
        case "sessions":
            load = SessionsLoad.model_validate(common | {"connection_rate": 1, "num_connections": 1})
    address = "127.0.0.1:80"
    wanted = WebToolRequest(load=load, address=address, authority=address, threads=1, files=files)
    return " ".join(tool_named(name).driver.arguments(wanted))


@pytest.mark.parametrize(("name", "key", "option"), OF_WEB)
def test_an_option_that_keeps_a_default_off_is_in_the_command(name, key, option, tmp_path):
    assert option in words(name, tmp_path)


@pytest.mark.parametrize("name", ["ycsb", "go-ycsb"])
def test_an_option_that_keeps_databases_from_sending_again_is_in_the_url(name, tmp_path):
    table = {"model": "ycsb", "workload": "a", "records": 5, "threads": 1, "operations": 5, "generator": name}
    load = DatabaseLoadTable.model_validate(table).with_values({}, DatabaseLoad).asking()
    wanted = DatabaseToolRequest(load=load, url="mongodb://127.0.0.1:27017", threads=1, files=tmp_path)
    tool_named(name).driver.arguments(wanted)
    row = tool_named(name).table.defaults["retries"]
    assert isinstance(row, KeptOff)
    assert row.off_by in "".join(file.read_text() for file in tmp_path.iterdir()).replace("\\u0026", "&")


def test_a_load_that_accepts_compression_itself_is_sent_so(tmp_path):
    assert "identity" not in words("vegeta", tmp_path, headers={"Accept-Encoding": "gzip"})


def test_a_table_without_one_of_the_defaults_is_refused(tmp_path):
    text = (TABLES / "hey" / "tool.toml").read_text(encoding="utf-8")
    without = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("redirects"))
    assert without != text
    (tmp_path / "tool.toml").write_text(without)
    with pytest.raises(BadInput, match="expected defaults with compression, cookies"):
        TomlDocument.read(tmp_path / "tool.toml").to_model(ToolTable)
