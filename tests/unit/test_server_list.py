"""The list of servers on a narrow terminal."""

from loadcurve.cli.servers import Listed, server_tables
from support import terminal

PLACES = ["/usr/sbin/apache2", "/root/.cache/loadcurve/builds/actix-6a8df20ebf1abf60/loadcurve-actix"]


def test_each_place_is_whole_beside_long_versions():
    rows = [
        Listed("nginx-node-postgresql", "1.22.1 Node.js 20.20.2 PostgreSQL 15.18", PLACES[0]),
        Listed("actix", "4.18.1", PLACES[1]),
    ]
    [table] = server_tables({"web server": rows}, 80)
    lines = terminal.printed(table).splitlines()
    where = lines[0].index("where")
    assert "".join(line[where:].strip() for line in lines[1:]) == "".join(PLACES)
