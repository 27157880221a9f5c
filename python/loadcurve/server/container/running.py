"""A container that runs already, which its engine knows."""

from collections.abc import Sequence

from loadcurve.server.container.engine import Engine, EngineError
from loadcurve.server.settings import UnusableSetting


def first_process_of(name: str, engines: Sequence[Engine]) -> tuple[str, int]:
    """Return the engine that knows a container, and the id of the container's first process.

    Raises ``UnusableSetting``: no engine knows it, or it does not run.
    """
    installed = [engine for engine in engines if engine.is_installed()]
    if not installed:
        named = " or ".join(engine.name for engine in engines)
        raise UnusableSetting("container", f"not used: no program {named} was found on PATH")
    troubles, asked = [], []
    for engine in installed:
        try:
            facts = engine.container(name)
        except EngineError as error:
            troubles.append(f"{error}{': ' if error.said else ''}{error.said}")
            continue
        asked.append(engine.name)
        if facts is not None:
            return engine.name, _pid(name, engine, facts["State"])
    # An engine whose service does not run has no containers that do.
    found = "; ".join(troubles)
    if asked:
        found = f"there is no such container by {' and '.join(asked)}, see: {asked[0]} ps"
    raise UnusableSetting("container", f'found "{name}"; {found}')


def _pid(name: str, engine: Engine, state: dict[str, object]) -> int:
    pid = int(str(state.get("Pid") or 0))
    if not pid:
        status = state.get("Status") or "not running"
        text = f'found "{name}", which is {status}: start it with {engine.name} start {name}'
        raise UnusableSetting("container", text)
    return pid
