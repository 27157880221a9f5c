"""Reading the catalogue, the packaged one and the user's."""

import os
import pwd
import re
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.server.catalog import load_catalog
from loadcurve.server.container.found import containerfile_of
from loadcurve.server.found import FoundServer, MissingServer, Overrides, find_server, with_blocks
from loadcurve.server.install import install_command
from loadcurve.server.installed.place import FOLDER_VARIABLE
from loadcurve.server.settings import IntegerSetting, UnusableSetting
from loadcurve.server.templates import quoted

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


DATABASE = 'protocol = "mongodb"\nurl = "mongodb://{address}:{port}"'


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


PACKAGED = """
actix apache-1.3 apache-cgi apache-event apache-perl apache-php apache-prefork apache-ssi apache-worker bun
bun-http caddy caddy-node-ws cherokee command envoy ferretdb grpc-go grpcio gtlsserver gunicorn h2o haproxy
hyper hypercorn jetty lighttpd lighttpd-php limit mini-httpd mongodb nginx nginx-node-postgresql
nginx-node-ws nginx-php nginx-php-postgresql node node-postgresql node-ws persistent pipelined postgresql
puma python-http simple starlette thttpd tomcat tonic url uvicorn varnish
"""


def test_the_packaged_servers_are_there():
    assert [entry.name for entry in load_catalog()] == PACKAGED.split()


def test_every_packaged_server_that_debian_has_and_that_containers_run_has_a_containerfile_that_installs_it():
    for entry in load_catalog():
        packages = entry.description.install.debian or []
        file = containerfile_of(entry)
        if packages and entry.description.build is None and entry.description.user is None:
            assert file is not None, entry.name
            assert set(packages) <= set(file.read_text().split()), entry.name


def test_every_server_of_our_own_and_every_one_that_is_built_comes_with_a_containerfile():
    for name in (
        "limit",
        "simple",
        "persistent",
        "pipelined",
        "hyper",
        "actix",
        "ferretdb",
        "grpc-go",
        "tonic",
    ):
        assert containerfile_of(load_catalog()[name]) is not None, name


def test_settings_of_the_same_name_have_the_same_type_unit_and_meaning_in_all_packaged_servers():
    kinds: dict[str, set[tuple[str, bool, str]]] = {}
    for entry in load_catalog():
        for name, setting in entry.description.settings.items():
            # What it is called in the server's own configuration, and what is special there, come behind.
            meaning = re.split(r"[(;:.]", setting.doc)[0].strip()
            counts_cpus = isinstance(setting, IntegerSetting) and setting.auto
            kinds.setdefault(name, set()).add((setting.type, counts_cpus, meaning))
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}


@pytest.mark.parametrize("entry", list(load_catalog()), ids=lambda entry: entry.name)
def test_every_packaged_server_says_where_its_manual_is_and_how_to_get_it_and_its_version(entry):
    description = entry.description
    assert description.notes
    # What a study brings along, the catalogue does not know.
    assert (description.documentation is None) == (entry.name in {"command", "url"})
    assert description.documentation is None or description.documentation.startswith("https://")
    if description.from_study is None:
        assert re.compile(description.version.pattern).groups
        assert install_command(["debian"], description.install)


@pytest.mark.parametrize("name", ["thttpd", "cherokee", "mongodb", "apache-1.3"])
def test_a_server_that_no_debian_has_is_marked_as_not_tested(name):
    assert load_catalog()[name].description.notes[0].startswith("Not tested")


def test_a_users_entry_stands_beside_the_packaged_ones(catalog):
    assert catalog()["demo"].description.title == "Demo"
    assert "nginx" in catalog()


def test_a_users_entry_replaces_the_packaged_one_of_the_same_name(tmp_path):
    folder = tmp_path / "nginx"
    folder.mkdir()
    (folder / "server.toml").write_text(MINIMAL.format(binary="echo", more="", tables=""))
    assert load_catalog([tmp_path])["nginx"].folder == folder


@pytest.mark.parametrize(
    ("name", "meant"), [("ngnix", "nginx"), ("nginx-node-po", "nginx-node-postgresql"), ("ligh", "lighttpd")]
)
def test_an_unknown_server_is_bad_input_that_names_the_nearest(name, meant):
    with pytest.raises(BadInput, match=f'`{name}`.*did you mean "{meant}"'):
        load_catalog()[name]


def test_an_unknown_server_is_said_to_need_a_key_where_it_is_ones_own():
    with pytest.raises(BadInput, match=r'a program of your own has start = .* use = "url" and url = '):
        load_catalog()["mine"]


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
        ("build = []", "at least 1"),
        ('build = ["{native}"]', "build names {native}"),
        ('from_study = "start"', "binary is given together with from_study"),
        ('protocol = "mongo"', 'did you mean "mongodb"?'),
        ('protocol = "mongodb"', "url is missing"),
        ('url = "http://{address}:{port}"', "url is given without a protocol"),
        (f'{DATABASE}\nready = {{ path = "/" }}', "a database, which lets clients in"),
        ('ready = { path = "/", connects = true }', "remove one of them"),
        (f'{DATABASE}\ncheck = ["{{content}}"]', "check names {content}"),
        (DATABASE.replace("{port}", "{scratch}"), "url names {scratch}"),
        (f'{DATABASE}\nprepare = ["{{password}}"]', "prepare names {password}"),
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
        ('[settings.version]\ntype = "integer"\ndefault = 1\ndoc = ""', "cannot be named `version`"),
        ('[settings.size]\ntype = "integer"\ndefault = 0\nminimum = 1\ndoc = ""', "at least 1"),
        ('[settings.size]\ntype = "integre"\ndefault = 0\ndoc = ""', 'did you mean "integer"?'),
        ('[settings.size]\ntype = "boolean"\ndefault = 0\ndoc = ""', "true or false"),
        ('[install]\nubuntu = ["demo"]', "unknown key"),
        ('[files]\nmodule = ["{prot}/*.so"]', "files names {prot}"),
        ('[environment]\nPLACE = "{prot}"', "environment names {prot}"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(tables, expected, catalog):
    assert expected in refusal(catalog, tables=tables)


def test_the_place_of_what_is_built_is_known_only_where_something_is_built(catalog):
    assert "binary names {build}" in refusal(catalog, binary="{build}/demo")
    assert catalog(binary="{build}/demo", more='build = ["make"]')["demo"].description.build == ["make"]


def write_with_version(tmp_path, command, pattern):
    text = MINIMAL.format(binary="echo", more="", tables="").replace('"1.2"', command)
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "server.toml").write_text(text.replace("([0-9.]+)", pattern))
    return load_catalog([tmp_path])["demo"]


def test_a_pattern_without_a_group_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no group"):
        write_with_version(tmp_path, '"1.2"', "[0-9.]+")


def test_the_version_names_each_program_that_takes_part(tmp_path):
    entry = write_with_version(tmp_path, '"Apache/2.4 (Debian) PHP/8.2"', "Apache/([0-9.]+) .*(PHP/[0-9.]+)")
    assert find_server(entry, {}).version == "2.4 PHP/8.2"


def test_a_template_that_is_missing_is_named(catalog):
    assert "template demo.j2 cannot be read" in refusal(catalog, tables='[config]\n"demo.conf" = "demo.j2"')


def test_an_unknown_name_in_a_template_is_named_with_the_nearest(catalog):
    text = refusal(catalog, tables='[config]\n"demo.conf" = "demo.j2"', template="listen {{ prot }}")
    assert "unknown name `prot`" in text
    assert 'did you mean "port"?' in text


def test_a_broken_template_is_named_with_its_line(catalog, tmp_path):
    text = refusal(catalog, tables='[config]\n"demo.conf" = "demo.j2"', template="a\n{% if %}")
    assert text.startswith(f"{tmp_path / 'demo' / 'demo.j2'}:2: ")


BASE = """
title = "Base"
documentation = "https://example.org/"
binary = ["echo"]
start = ["{binary}", "{port}", "{size}"]
notes = ["one", "two"]
[version]
command = ["{binary}", "1.2"]
pattern = '([0-9.]+)'
[config]
"demo.conf" = "demo.j2"
[settings.size]
type = "integer"
default = 1
minimum = 1
doc = "How large."
"""


@pytest.fixture
def based(tmp_path):
    """Write an entry ``demo`` that is based on ``BASE`` and says what is given, and read it."""

    def read(own='base = "../shared/base.toml"', base=BASE, **templates):
        shared, folder = tmp_path / "shared", tmp_path / "demo"
        for made in (shared, folder):
            made.mkdir(exist_ok=True)
        (shared / "base.toml").write_text(base)
        (folder / "server.toml").write_text(own)
        for name, text in ({"demo": "size {{ size }}"} | templates).items():
            (shared / f"{name}.j2").write_text(text)
        return load_catalog([tmp_path])["demo"]

    return read


def test_an_entry_has_what_its_base_says_where_it_is_silent(based):
    own = 'base = "../shared/base.toml"\ntitle = "Demo"\nnotes = ["three"]\nsettings.size.default = 2'
    description = based(own).description
    assert (description.title, description.documentation) == ("Demo", "https://example.org/")
    assert description.notes == ["three"]
    assert (description.settings["size"].default, description.settings["size"].doc) == (2, "How large.")


def test_of_several_bases_an_earlier_one_goes_before_a_later_one(based, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "more.toml").write_text('title = "More"\nnotes = ["more"]\nready.timeout = "3s"')
    description = based('base = ["../shared/base.toml", "../shared/more.toml"]').description
    assert (description.title, description.notes) == ("Base", ["one", "two"])
    assert description.ready.timeout_s == 3


def test_a_base_that_is_no_path_is_refused_with_its_line(based):
    with pytest.raises(BadInput, match=r"demo/server.toml:1: base"):
        based("base = [1]")


def test_a_template_includes_those_of_the_base(based, tmp_path):
    own = 'base = "../shared/base.toml"\nconfig = { "demo.conf" = "own.j2" }'
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "own.j2").write_text('own\n{% include "demo.j2" %}')
    assert based(own).templates.render("own.j2", {"size": 3}) == "own\nsize 3"


def test_an_unknown_name_in_an_included_template_is_named_with_its_file(based, tmp_path):
    with pytest.raises(BadInput, match=f"{tmp_path}/shared/more.j2: .*unknown name `siez`.*size"):
        based(demo='{% include "more.j2" %}', more='{% include "demo.j2" %}{{ siez }}')


@pytest.mark.parametrize(
    "reaching",
    [
        "{{ size.__class__.__base__.__subclasses__() }}",
        "{{ '{0.__class__.__init__.__globals__}'.format(size) }}",
        "{% set many = [] %}{{ many.append(size) }}",
    ],
)
def test_a_template_reaches_nothing_of_python_beyond_its_names(reaching, based):
    with pytest.raises(BadInput, match=r"demo\.j2 cannot be filled in: .*unsafe|not safely"):
        based(demo=reaching).templates.render("demo.j2", {"size": 3})


def test_a_fault_in_a_base_is_reported_with_the_line_of_the_base(based, tmp_path):
    line = BASE.splitlines().index("[settings.size]") + 1
    with pytest.raises(BadInput, match=f"^{tmp_path}/shared/base.toml:{line}: settings.size: .* at least 1"):
        based(base=BASE.replace("default = 1", "default = 0"))


def test_a_fault_beside_what_a_base_says_is_reported_with_the_own_line(based, tmp_path):
    own = 'base = "../shared/base.toml"\nsettings.size.default = 0'
    with pytest.raises(BadInput, match=f"^{tmp_path}/demo/server.toml:2: settings.size: .* at least 1"):
        based(own)


@pytest.mark.parametrize("base", ['"../shared/no.toml"', '"server.toml"'])
def test_a_base_that_is_missing_or_leads_back_is_named_with_its_line(base, based, tmp_path):
    with pytest.raises(BadInput, match=r"demo/server.toml:1: base: found .* not based on this one"):
        based(f"base = {base}")


@pytest.mark.parametrize("key", ["binary", "start"])
def test_a_description_without_a_program_is_refused_unless_a_study_names_it(key, tmp_path):
    lines = MINIMAL.format(binary="echo", more="", tables="").splitlines()
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "server.toml").write_text(
        "\n".join(line for line in lines if not line.startswith(key))
    )
    with pytest.raises(BadInput, match=f"{key} is missing: expected binary, version, start, or from_study"):
        load_catalog([tmp_path])


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


def test_a_program_is_the_last_match_of_the_first_pattern_that_has_any(catalog, tmp_path):
    for version in ("8.1", "8.2"):
        program = tmp_path / f"demo-{version}" / "bin" / "demo"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\necho 1.2\n")
        program.chmod(0o755)
    entry = catalog(binary=f'{tmp_path}/none-*/demo", "{tmp_path}/demo-*/bin/demo", "echo')["demo"]
    # Another user than who runs the tests may not reach the folder.
    stays = Overrides(user=pwd.getpwuid(os.geteuid()).pw_name)
    assert find_server(entry, {}, stays).binary == program


def test_where_no_pattern_matches_a_program_is_searched_by_its_name(catalog):
    assert find_server(catalog(binary='/no/such/*/demo", "echo')["demo"], {}).binary.name == "echo"


def test_a_program_can_be_that_of_an_installed_server(catalog, tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "servers"))
    program = tmp_path / "servers" / "other" / "bin" / "echo"
    program.parent.mkdir(parents=True)
    program.symlink_to("/bin/echo")
    entry = catalog(binary="{servers}/other/bin/echo", more='folders.its = ["{servers}/other"]')["demo"]
    found = find_server(entry, {})
    assert (found.binary, found.parts["its"]) == (program, tmp_path / "servers" / "other")


def test_the_password_of_a_start_cannot_get_into_a_configuration(catalog):
    text = refusal(
        catalog, more=DATABASE, tables='[config]\n"demo.conf" = "demo.j2"', template="{{ password }}"
    )
    assert "unknown name `password`" in text


def test_a_server_without_its_folders_is_missing(catalog):
    entry = catalog(tables='[folders]\nmodules = ["{binary_folder}/no-such-folder", "/no/such/folder"]')[
        "demo"
    ]
    missing = find_server(entry, {})
    assert isinstance(missing, MissingServer)
    assert "/no/such/folder" in missing.reason


def test_a_file_of_a_server_is_the_last_match_of_the_first_pattern_that_has_any(catalog, tmp_path):
    modules = tmp_path / "modules [1]"
    modules.mkdir()
    for name in ("a8.1.so", "a8.2.so", "b9.so"):
        (modules / name).touch()
    patterns = '["{modules}/none*.so", "{modules}/a*.so", "{modules}/b*.so"]'
    entry = catalog(tables=f'[folders]\nmodules = ["{modules}"]\n[files]\nmodule = {patterns}')["demo"]
    assert find_server(entry, {}).parts == {"modules": modules, "module": modules / "a8.2.so"}


def test_a_server_without_its_files_is_missing(catalog):
    missing = find_server(catalog(tables='[files]\nmodule = ["/no/such/*.so", "/nor/this.so"]')["demo"], {})
    assert isinstance(missing, MissingServer)
    assert missing.reason == "its file of module was not found: /no/such/*.so, /nor/this.so"


def test_a_program_that_cannot_be_run_has_no_known_version(catalog, tmp_path):
    from loadcurve.server.failure import ServerFailure

    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    with pytest.raises(ServerFailure, match="cannot be run: No such file") as caught:
        find_server(catalog()["demo"], {}, Overrides(binary=program))
    assert caught.value.code == "version_unknown"


def test_quotes_and_backslashes_are_escaped_in_quoted_text():
    assert quoted('/a "b" \\ c') == '"/a \\"b\\" \\\\ c"'


def test_a_packaged_server_is_a_base_by_its_name(tmp_path: Path):
    folder = tmp_path / "proxied"
    folder.mkdir()
    (folder / "server.toml").write_text(
        'base = "nginx"\ntitle = "nginx with a page"\n[config]\n"nginx.conf" = "proxied.conf.j2"\n'
    )
    block = "{% block pages %}location = /on { return 200 {{ port }}; }{% endblock %}"
    (folder / "proxied.conf.j2").write_text(f'{{% extends "nginx.conf.j2" %}}\n{block}\n')
    entry = load_catalog([tmp_path])["proxied"]
    assert entry.description.title == "nginx with a page"
    assert entry.description.binary == ["nginx"]
    text = entry.templates.render("proxied.conf.j2", NAMES_OF_NGINX)
    assert "location = /on { return 200 8080; }" in text
    assert "server_name localhost;" in text


def test_a_base_that_is_no_packaged_server_is_refused(tmp_path: Path):
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "server.toml").write_text('base = "ngimx"\ntitle = "x"\n')
    with pytest.raises(BadInput, match='found "ngimx"; expected the name of a packaged server, or the path'):
        load_catalog([tmp_path])


NAMES_OF_NGINX = {
    name: setting.default for name, setting in load_catalog()["nginx"].description.settings.items()
} | {
    "user": None,
    "group": None,
    "private": "/p",
    "scratch": "/p/s",
    "content": "/c",
    "address": "127.0.0.1",
    "port": 8080,
    "version": "1.22.1",
    "workers": 1,
}


def test_what_a_study_adds_to_a_block_is_in_the_configuration():
    entry = load_catalog()["nginx"]
    blocks = {"pages": "location = /on { return 200 {{ port }}; }", "upstreams": "gzip on;"}
    with_them = with_blocks(entry, Overrides(blocks=blocks))
    plain, added = (
        [line.strip() for line in one.templates.render("nginx.conf.j2", NAMES_OF_NGINX).splitlines()]
        for one in (entry, with_them)
    )
    at = added.index("location = /on { return 200 8080; }")
    assert [line for line in added[at + 1 :] if line] == ["}", "}"], "within the server"
    assert added.index("gzip on;") < added.index("server {")
    of_blocks = {"location = /on { return 200 8080; }", "gzip on;", ""}
    assert [line for line in added if line not in of_blocks] == [line for line in plain if line]


@pytest.mark.parametrize(
    ("server", "blocks", "said"),
    [
        (
            "nginx",
            {"page": "x"},
            'no template has a block `page`; known are pages, upstreams; did you mean "pages"?',
        ),
        ("nginx", {"pages": "{{ prot }}"}, "pages uses an unknown name `prot`; known are "),
        ("nginx", {"pages": "a\n{% if %}"}, "pages, line 2: "),
        (
            "nginx",
            {"pages": '{% include "nginx.conf.j2" %}'},
            "names the template nginx.conf.j2, which a block",
        ),
        ("limit", {"pages": "x"}, "no template has a block `pages`; known are none"),
    ],
)
def test_a_block_that_cannot_be_added_to_is_refused(server, blocks, said):
    with pytest.raises(UnusableSetting) as caught:
        with_blocks(load_catalog()[server], Overrides(blocks=blocks))
    assert caught.value.setting == "blocks"
    assert said in str(caught.value)
