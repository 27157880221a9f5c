"""Studies of several loads at once: what their file says, and what is refused with which words."""

import pytest

from loadcurve.errors import BadInput
from loadcurve.study.several import is_of_several, parts_of
from loadcurve.toml.document import TomlDocument

STUDY = """\
title = "Two at once"

[content]
"1k.txt" = "1KiB"

[loads.web]
model = "closed"
requests = ["/1k.txt"]
duration = "5s"

[loads.database]
model = "ycsb"
workload = "a"
threads = 4
duration = "5s"

[sweep]
web.connections = [1, 10]
database.records = [100, 200]

[servers.limit]
load = "web"

[servers.postgresql]
load = "database"
"""


def parts(tmp_path, text=STUDY):
    file = tmp_path / "study.toml"
    file.write_text(text)
    return parts_of(TomlDocument.read(file))


def test_each_load_has_a_study_of_its_server_alone_and_beside_the_others(tmp_path):
    (web, of_web), (database, of_database) = parts(tmp_path)
    assert (web.name, web.server, web.together) == ("web", "limit", "limit-beside-postgresql")
    assert list(of_web.arms) == ["limit", "limit-beside-postgresql"]
    assert {server.use for server in of_web.servers.values()} == {"limit"}
    assert list(of_database.arms) == ["postgresql", "postgresql-beside-limit"]
    # A database has no content, and a web server has the file's.
    assert (of_web.content.files, of_database.content) == ({"1k.txt": 1024}, None)
    assert database.server == "postgresql"


def test_a_load_has_claims_about_its_server_alone_and_beside_the_others(tmp_path):
    claim = (
        '[[claims]]\ntext = "It serves as much."\nkind = "alike"\n'
        'servers = ["limit-beside-postgresql", "limit"]\n'
    )
    (tmp_path / "claims.toml").write_text(f'{claim}over = "connections"\n')
    text = STUDY.replace('model = "closed"', 'model = "closed"\nclaims = "claims.toml"')
    (_, of_web), (_, of_database) = parts(tmp_path, text)
    assert [claim.kind for claim in of_web.claims.claims] == ["alike"]
    assert of_database.claims is None
    (tmp_path / "claims.toml").write_text(f'{claim.replace("postgresql", "database")}over = "connections"\n')
    with pytest.raises(BadInput, match='did you mean "limit-beside-postgresql"'):
        parts(tmp_path, text)
    with pytest.raises(BadInput, match="each of several loads has claims in its own table"):
        parts(tmp_path, f'claims = "claims.toml"\n{STUDY}')


def test_the_points_are_the_product_of_all_keys_and_each_study_names_its_own(tmp_path):
    (_, of_web), (_, of_database) = parts(tmp_path)
    pairs = [(1, 100), (1, 200), (10, 100), (10, 200)]
    assert of_web.points() == [{"connections": web, "database.records": db} for web, db in pairs]
    assert of_database.points() == [{"web.connections": web, "records": db} for web, db in pairs]
    assert [of_web.arms["limit"].load_at(point).connections for point in of_web.points()] == [1, 1, 10, 10]
    at = [of_database.arms["postgresql"].load_at(point).records for point in of_database.points()]
    assert at == [100, 200, 100, 200]


def test_a_shortened_study_keeps_the_same_points_for_all_loads(tmp_path):
    quick = "[quick]\nsweep = { web = { connections = [10] }, database = { records = [100, 200] } }\n"
    (_, of_web), (_, of_database) = parts(tmp_path, f"{STUDY}\n{quick}")
    assert of_web.quick().points() == [{"connections": 10, "database.records": at} for at in (100, 200)]
    assert of_database.quick().points() == [{"web.connections": 10, "records": at} for at in (100, 200)]


def test_a_study_of_one_load_is_none_of_several(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text('title = "x"\n[load]\n')
    assert not is_of_several(TomlDocument.read(file))


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (
            ('load = "web"', 'load = "wb"'),
            22,
            'servers.limit.load: found "wb"; expected one of the loads: web, da',
        ),
        (
            ('load = "database"', 'load = "web"'),
            11,
            'loads.database: found no server with load = "database"; expected one server for each load',
        ),
        (("web.connections", "web.conections"), 18, "sweep.web.conections: unknown key"),
        (("web.connections", "wib.connections"), 18, 'sweep.wib: found "wib"; expected one of the loads'),
        (("threads = 4", "treads = 4"), 14, "loads.database.treads: unknown key"),
        (
            ('threads = 4\nduration = "5s"', 'threads = 4\nduration = "6s"'),
            15,
            "loads.database.duration: found 6 s; expected 5 s as in [loads.web]: loads at once have one",
        ),
        (
            ('threads = 4\nduration = "5s"', "threads = 4\noperations = 10"),
            11,
            'loads.database.duration: missing; loads at once require a duration, such as "10s"',
        ),
        (
            ("[content]\n", '[load]\nmodel = "closed"\n[content]\n'),
            3,
            "load: cannot be combined with several loads",
        ),
        (
            ('[servers.limit]\nload = "web"', '[servers.limit]\nload = "web"\nload_machines = ["here"]'),
            23,
            "servers.limit.load_machines: not for one of several loads, which start together",
        ),
        (("[sweep]", '[trials]\nuntil_drop = "10 %"\n[sweep]'), 18, "trials.until_drop: "),
    ],
)
def test_what_does_not_fit_is_refused_at_its_line(tmp_path, change, line, said):
    with pytest.raises(BadInput) as raised:
        parts(tmp_path, STUDY.replace(*change))
    file = tmp_path / "study.toml"
    assert f"{file}:{line}: {said}" in str(raised.value)


def test_loads_that_are_bound_to_one_cpu_by_name_are_refused(tmp_path):
    text = STUDY.replace('duration = "5s"', 'duration = "5s"\nload_cpus = [1]')
    with pytest.raises(
        BadInput, match=r"loads.database.load_cpus: CPU 1 is in load_cpus of \[loads.web\], too"
    ):
        parts(tmp_path, text)


def test_a_single_load_is_asked_for_in_its_own_table(tmp_path):
    text = STUDY.replace("[loads.database]", "[loads.web2]").split("[loads.web2]")[0]
    with pytest.raises(BadInput, match="expected at least two tables"):
        parts(tmp_path, text + '[sweep]\nweb.connections = [1]\n[servers.limit]\nload = "web"\n')
