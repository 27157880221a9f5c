"""Reading the catalogue, the packaged one and the user's."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.server.catalog import load_catalog, quoted
from loadcurve.server.found import FoundServer, MissingServer, find_server

MINIMAL = """
title = "Demo"
documentation = "https://example.org/"
binary = ["{binary}"]
start = ["{{binary}}", "{{port}}"]
{more}
[version]
command = ["{{binary}}", "1.2"]
pattern = '([0-9.]+)'
{tables}
"""


@pytest.fixture
def catalog(tmp_path: Path):
    """Write one entry named ``demo`` and read the catalogue with it."""

    def read(binary="echo", more="", tables="", template=None):
        folder = tmp_path / "demo"
        folder.mkdir(exist_ok=True)
        (folder / "server.toml").write_text(MINIMAL.format(binary=binary, more=more, tables=tables))
        if template is not None:
            (folder / "demo.j2").write_text(template)
        return load_catalog([tmp_path])

    return read


def refusal(catalog, **parts) -> str:
    with pytest.raises(BadInput) as caught:
        catalog(**parts)
    return str(caught.value)


def test_the_packaged_servers_are_there():
    packaged = ["apache-event", "limit", "nginx", "persistent", "pipelined", "simple"]
    assert [entry.name for entry in load_catalog()] == packaged


def test_settings_of_the_same_name_have_the_same_type_in_all_packaged_servers():
    types: dict[str, set[str]] = {}
    for entry in load_catalog():
        for name, setting in entry.description.settings.items():
            types.setdefault(name, set()).add(setting.type)
    assert {name for name, found in types.items() if len(found) > 1} == set()


def test_a_users_entry_stands_beside_the_packaged_ones(catalog):
    assert catalog()["demo"].description.title == "Demo"
    assert "nginx" in catalog()


def test_a_users_entry_replaces_the_packaged_one_of_the_same_name(tmp_path):
    folder = tmp_path / "nginx"
    folder.mkdir()
    (folder / "server.toml").write_text(MINIMAL.format(binary="echo", more="", tables=""))
    assert load_catalog([tmp_path])["nginx"].folder == folder


def test_an_unknown_server_is_bad_input_that_names_the_nearest():
    with pytest.raises(BadInput, match=r'`ngnix`.*did you mean "nginx"'):
        load_catalog()["ngnix"]


def test_an_unknown_key_is_named_with_file_line_and_the_nearest_key(catalog, tmp_path):
    text = refusal(catalog, more='titel = "Demo"')
    assert f"{tmp_path / 'demo' / 'server.toml'}:6: titel: unknown key" in text
    assert 'did you mean "title"?' in text


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ('check = ["{prot}"]', "check names {prot}"),
        ('check = ["{0}"]', "{0} is not a placeholder"),
        ('check = ["{"]', "'{'"),
        ('logs = ["../log"]', "plain name"),
        ('logs = ["console.log"]', "taken"),
        ('stop = { signal = "SIGNOTHING" }', "SIGNOTHING is not a signal"),
        ('stop = { timeout = "0s" }', "above zero"),
        ("check = []", "at least 1"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(more, expected, catalog):
    text = refusal(catalog, more=more)
    assert "server.toml:" in text
    assert expected in text


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ('[settings.port]\ntype = "integer"\ndefault = 1\ndoc = ""', "cannot be named `port`"),
        ('[settings.size]\ntype = "integer"\ndefault = 0\nminimum = 1\ndoc = ""', "at least 1"),
        ('[settings.size]\ntype = "integre"\ndefault = 0\ndoc = ""', 'did you mean "integer"?'),
        ('[settings.size]\ntype = "boolean"\ndefault = 0\ndoc = ""', "true or false"),
        ('[install]\nubuntu = ["demo"]', "unknown key"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(tables, expected, catalog):
    assert expected in refusal(catalog, tables=tables)


@pytest.mark.parametrize(("pattern", "groups"), [("[0-9.]+", 0), ("([0-9]+)[.]([0-9]+)", 2)])
def test_a_pattern_without_exactly_one_group_is_refused(pattern, groups, tmp_path):
    (tmp_path / "demo").mkdir()
    text = MINIMAL.format(binary="echo", more="", tables="").replace("([0-9.]+)", pattern)
    (tmp_path / "demo" / "server.toml").write_text(text)
    with pytest.raises(BadInput, match=f"has {groups} groups"):
        load_catalog([tmp_path])


def test_a_template_that_is_missing_is_named(catalog):
    assert "template demo.j2 cannot be read" in refusal(catalog, tables='[config]\n"demo.conf" = "demo.j2"')


def test_an_unknown_name_in_a_template_is_named_with_the_nearest(catalog):
    text = refusal(catalog, tables='[config]\n"demo.conf" = "demo.j2"', template="listen {{ prot }}")
    assert "unknown name `prot`" in text
    assert 'did you mean "port"?' in text


def test_a_broken_template_is_named_with_its_line(catalog, tmp_path):
    text = refusal(catalog, tables='[config]\n"demo.conf" = "demo.j2"', template="a\n{% if %}")
    assert text.startswith(f"{tmp_path / 'demo' / 'demo.j2'}:2: ")


def test_a_folder_that_is_no_catalogue_is_refused(tmp_path, catalog):
    with pytest.raises(BadInput, match="is not a folder"):
        load_catalog([tmp_path / "nowhere"])
    with pytest.raises(BadInput, match="is empty"):
        load_catalog([tmp_path])
    catalog()
    with pytest.raises(BadInput, match="is one server, not a catalogue"):
        load_catalog([tmp_path / "demo"])


def test_a_server_is_found_with_its_version(catalog):
    found = find_server(catalog()["demo"], {})
    assert isinstance(found, FoundServer)
    assert found.version == "1.2"
    assert found.binary.name == "echo"


def test_a_missing_server_is_reported_with_the_command_that_installs_it(catalog, monkeypatch):
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": "ubuntu", "ID_LIKE": "debian"})
    entry = catalog(binary="no-such-program", tables='[install]\ndebian = ["demo", "demo-data"]')["demo"]
    missing = find_server(entry, {})
    assert isinstance(missing, MissingServer)
    assert "no-such-program" in missing.reason
    assert missing.install == "apt-get install demo demo-data"
    assert missing.failure().code == "not_installed"


def test_a_server_without_its_folders_is_missing(catalog):
    entry = catalog(tables='[folders]\nmodules = ["{binary_folder}/no-such-folder", "/no/such/folder"]')[
        "demo"
    ]
    missing = find_server(entry, {})
    assert isinstance(missing, MissingServer)
    assert "/no/such/folder" in missing.reason


def test_a_program_that_cannot_be_run_has_no_known_version(catalog, tmp_path):
    from loadcurve.server.failure import ServerFailure

    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    with pytest.raises(ServerFailure, match="cannot be run: No such file") as caught:
        find_server(catalog()["demo"], {}, program)
    assert caught.value.code == "version_unknown"


def test_quotes_and_backslashes_are_escaped_in_quoted_text():
    assert quoted('/a "b" \\ c') == '"/a \\"b\\" \\\\ c"'
