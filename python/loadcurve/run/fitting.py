"""Whether the servers of a study fit its load: web servers to one, databases to the other."""

from collections.abc import Iterator, Mapping

from loadcurve._engine import Database, DatabaseError
from loadcurve.errors import BadInput
from loadcurve.load.plan import DatabaseTarget
from loadcurve.load.ycsb import DatabaseLoad, DatabaseLoadTable
from loadcurve.run.database_plan import DatabasePlans
from loadcurve.server.found import FoundServer, MissingServer
from loadcurve.server.protocol import ProtocolName
from loadcurve.server.running import RunningServer
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.problems import Problem

AnyServer = FoundServer | RunningServer | MissingServer


def misfits(study: Study, name: str, server: AnyServer) -> Iterator[Problem]:
    """Yield what keeps a server from being put under the study's load."""
    protocol = _protocol(server)
    title = server.entry.description.title
    driver = study.servers[name].driver
    if not isinstance(study.load, DatabaseLoadTable):
        if protocol not in (None, "http"):
            text = f'{title} is a database; expected model = "ycsb" in [load], or a web server here'
            yield Problem(("servers", name), text)
        if driver:
            yield Problem(("servers", name, "driver"), "given for a load on web servers; leave it out")
    elif protocol == "http":
        text = f"{title} is a web server; expected a database, as the load's model is ycsb"
        yield Problem(("servers", name), text)
    elif protocol is not None:
        target = _target(study, name, _url(server, protocol))
        try:
            Database(target.to_json())
        except ValueError as error:
            yield Problem(("servers", name, "driver" if driver else "use"), str(error))


def require_own_tables(study: Study, document: TomlDocument, servers: Mapping[str, AnyServer]) -> None:
    """See that no load would write into, or remove, what another has made in a database that runs already.

    Raises:
        BadInput: the table is there, and was not made by Loadcurve.

    """
    if not isinstance(study.load, DatabaseLoadTable):
        return
    for name, server in servers.items():
        if isinstance(server, RunningServer) and _is_foreign(_target(study, name, server.url)):
            where = f"{study.load.namespace}.{study.load.table}"
            text = (
                f"{where} is there already and was not made by Loadcurve, so it may hold another's data; "
                "name another namespace or table in [load], or remove it"
            )
            raise BadInput(document.report(Problem(("servers", name, "url"), text)))


def _is_foreign(target: DatabaseTarget) -> bool:
    """Say whether there is a table that is not ours; what keeps from asking is told in the trials."""
    database = Database(target.to_json())
    try:
        return database.exists() and not database.is_ours()
    except DatabaseError:
        return False


def _protocol(server: AnyServer) -> ProtocolName | None:
    """Return what is spoken with a server; ``None`` where only its URL would tell, and it is not there."""
    if not isinstance(server, MissingServer):
        return server.protocol
    description = server.entry.description
    return None if description.from_study == "url" else description.protocol


def _url(server: AnyServer, protocol: ProtocolName) -> str:
    return server.url if isinstance(server, RunningServer) else f"{protocol}://127.0.0.1"


def _target(study: Study, name: str, url: str) -> DatabaseTarget:
    plans = DatabasePlans(url, study.servers[name].driver, cpus=(0,))
    load = study.load_at(study.points()[0])
    if not isinstance(load, DatabaseLoad):
        raise TypeError("the study's load is not one on databases")
    return plans.load_phase(load, seed=0).target
