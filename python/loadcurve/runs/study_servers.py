"""What a study says of a server, as whoever looks for it and starts it takes it."""

import http
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.host.cgroups import NO_LIMITS
from loadcurve.loads.http_table import HttpLoadTable
from loadcurve.loads.way import STRAIGHT
from loadcurve.protocol import BY_ALT_SVC
from loadcurve.result.records import OWN_PROGRAM
from loadcurve.runs.limits import limits_of, limits_of_table
from loadcurve.server.catalog import Catalog, CatalogEntry
from loadcurve.server.found import Overrides, ReadyQuestion, WorkingFolder
from loadcurve.server.location import Location
from loadcurve.server.members import ByContainer, ByPid, ByUnit, Named
from loadcurve.server.password import with_password
from loadcurve.server.settings import UnusableSetting
from loadcurve.server.several import GivenProgram
from loadcurve.study.arm import Arm
from loadcurve.study.model import Study
from loadcurve.study.tables import StudyServer


def with_own_programs(study: Study, catalog: Catalog) -> Study:
    """Return the study with ``use = "command"`` for servers with ``start`` that are not in the catalogue.

    An arm of such a server is named after it, with what is swept behind a hyphen.
    """
    own = {
        name: server.model_copy(update={"use": OWN_PROGRAM}).with_settings_filled_in()
        for name, server in study.servers.items()
        if (server.start or server.programs) and _is_own_program(name, server, catalog)
    }
    return study.model_copy(update={"servers": {**study.servers, **own}}) if own else study


def _is_own_program(name: str, server: StudyServer, catalog: Catalog) -> bool:
    is_named_so = f"{name}-".startswith(f"{server.use}-") and server.use not in catalog
    return server.use == OWN_PROGRAM or is_named_so


def overrides_of(
    entry: CatalogEntry, arm: Arm, study: Study, folder: Path | None, location: Location
) -> Overrides:
    """Return what the study says of a server; raises UnusableSetting where that cannot be.

    ``folder`` is that of the study, if the server runs where it is.
    """
    server = arm.server
    if entry.description.from_study == "url":
        for key, given in (("cpus", server.cpus), ("ready", server.ready)):
            if given is not None:
                text = f"not used: the server {entry.name} is already running, so Loadcurve does not start it"
                raise UnusableSetting(key, text)
    return Overrides(
        binary=server.binary,
        start=server.start,
        url=_url(server),
        version=server.version,
        version_command=server.version_command,
        environment=server.environment,
        user=server.user,
        folder=_working_folder(entry, server, folder),
        ready=_ready_question(entry, arm, has_content=study.content is not None),
        named=_named(server),
        blocks=_blocks(entry, server, is_elsewhere=folder is None),
        tls=arm.load.tls,
        way=arm.load.way if isinstance(arm.load, HttpLoadTable) else STRAIGHT,
        announced_at=_announced_at(arm),
        limits=limits_of(server, study.host),
        location=location,
    )


def _announced_at(arm: Arm) -> str | None:
    load = arm.load
    asks = isinstance(load, HttpLoadTable) and load.http == BY_ALT_SVC
    return arm.paths_to_verify(seed=0)[0] if asks else None


def programs_of(entry: CatalogEntry, arm: Arm, folder: Path | None) -> list[GivenProgram]:
    """Return the programs that are a server together; raises UnusableSetting where there cannot be several.

    ``folder`` is that of the study, if the server runs where it is.
    """
    server = arm.server
    if server.programs is None:
        return []
    if not entry.description.is_own_program or folder is None:
        why = f"the server {entry.name} is one of the catalogue"
        where = "it runs on another machine, where only one program is started"
        text = f"not used: {where if entry.description.is_own_program else why}"
        raise UnusableSetting("programs", text)
    serving = next((one for one in server.programs if one.serves), server.programs[-1])
    return [
        GivenProgram(
            name=one.name,
            start=one.start,
            serves=one is serving,
            folder=None if one.cwd is None else WorkingFolder(one.cwd, is_given=True),
            # A port that the variables of all name is that of the program which the load goes to.
            environment={**server.environment, **one.environment} if one is serving else one.environment,
            ready=_ready_of_program(entry, arm, one.ready, is_asked=one is serving),
            port=one.port,
            limits=NO_LIMITS if one.limits is None else limits_of_table(one.limits),
        )
        for one in server.programs
    ]


def _ready_of_program(
    entry: CatalogEntry, arm: Arm, path: str | None, *, is_asked: bool
) -> ReadyQuestion | None:
    if path is not None:
        return ReadyQuestion(path, http.HTTPStatus.BAD_REQUEST)
    return _ready_question(entry, arm, has_content=False) if is_asked else None


def _blocks(entry: CatalogEntry, server: StudyServer, *, is_elsewhere: bool) -> dict[str, str]:
    """Return what is added to blocks of a server's configuration; raises UnusableSetting where it cannot."""
    if server.blocks and is_elsewhere:
        text = (
            "not used: the server runs on another machine; put them into a description of your own with "
            f'base = "{entry.name}", and give its folder as catalog'
        )
        raise UnusableSetting("blocks", text)
    return server.blocks


def _named(server: StudyServer) -> list[Named]:
    """Return by what the processes of a server that runs already are named."""
    return [
        *map(ByPid, server.pid or ()),
        *map(ByUnit, server.unit or ()),
        *map(ByContainer, server.container or ()),
    ]


def _working_folder(entry: CatalogEntry, server: StudyServer, folder: Path | None) -> WorkingFolder | None:
    """Return where a study's own program works; ``None`` for a server that works in its private folder."""
    is_own = entry.description.is_own_program
    if folder is not None and server.engine is None and is_own:
        return WorkingFolder(server.cwd or folder, is_given=server.cwd is not None)
    if server.cwd is not None:
        where = "is one of the catalogue" if not is_own else "runs in a container or on another machine"
        raise UnusableSetting("cwd", f"not used: the server {where}; it works in its private folder")
    return None


def _ready_question(entry: CatalogEntry, arm: Arm, *, has_content: bool) -> ReadyQuestion | None:
    """Return what shows that a server is ready, where its description does not say it."""
    if arm.server.ready is not None:
        if not entry.description.kind.serves_content:
            text = f"not used: {entry.name} is a database, which is ready when it lets a client in"
            raise UnusableSetting("ready", text)
        return ReadyQuestion(arm.server.ready, http.HTTPStatus.BAD_REQUEST)
    # A load on databases, which no such program can be put under, has no paths.
    paths = arm.paths_to_verify(0)
    if has_content or not paths or not entry.description.is_own_program:
        return None
    return ReadyQuestion(paths[0], http.HTTPStatus.INTERNAL_SERVER_ERROR)


def needs_content(entry: CatalogEntry, server: StudyServer) -> bool:
    """Whether a server serves the content of the study; its own program does where it is given it."""
    if not entry.description.is_own_program:
        return entry.description.from_study is None and not entry.description.messages
    tables = [server, *(server.programs or ())]
    words = [word for table in tables for word in table.start or ()]
    values = [one for table in tables for one in table.environment.values()]
    return any("{content}" in text for text in [*words, *(one.text for one in values if one.source is None)])


def _url(server: StudyServer) -> str | None:
    """Return where a server runs already, with its password; raises UnusableSetting where they do not fit."""
    if server.password is None:
        return server.url
    if server.url is None:
        text = "set without url; it is for a database that is already running"
        raise UnusableSetting("password", text)
    try:
        return with_password(server.url, server.password.text)
    except BadInput as error:
        raise UnusableSetting("password", str(error)) from None
