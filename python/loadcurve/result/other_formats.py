"""Records of other versions of a format: earlier ones are translated at the door, unknown ones refused.

What was not recorded then is taken from what was: each load model was of one work, and a database's record
named what was spoken with it. A model that is unknown gives no work, so that its record is refused.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json, to_json

from loadcurve.errors import BadInput
from loadcurve.loads.kinds import kind_with_model
from loadcurve.result.load import LOAD_FORMAT

Json = dict[str, Any]

FIRST_RUN_FORMAT: Final = "loadcurve-run/1"
OLD_RUN_FORMATS: Final = (FIRST_RUN_FORMAT, "loadcurve-run/2")
_FIRST_LOAD_FORMAT = "loadcurve-load/1"
_MEASURED, _LOADING = "load", "loading"
"""The keys of a point's loads in the first format, which had no table of measurements."""
_OLD_NAMES = {"burst": "pipeline", "num_connections": "connections_total", "operations": "requests_total"}
"""What the options of a load were called in the records of the first versions."""

_SHOWN = 40


def require_known_format(path: Path, text: bytes, known: str) -> None:
    """Raise ``BadInput`` for a record of another version of the format ``known``, such as ``NAME/1``.

    What is no such record at all, or no JSON, passes: something else is wrong with it.
    """
    try:
        written: Any = from_json(text, allow_partial=True)
    except ValueError:
        return
    name = written.get("format") if isinstance(written, dict) else None
    if isinstance(name, str) and name.startswith(f"{known.partition('/')[0]}/") and name != known:
        raise BadInput(
            f"{path} has the format {name[:_SHOWN]}, and this version of Loadcurve reads {known}. Use the "
            "version that wrote it, or a newer one."
        )


def run_as_today(text: bytes) -> bytes:
    """Return the text of an older ``run.json`` as today's; what is no such record stays as it is."""
    return _translated(text, _run)


def trial_as_today(line: bytes, written_as: str) -> bytes:
    """Return a line of the ``trials.jsonl`` of an older run in the same way."""
    return _translated(line, _first_point if written_as == FIRST_RUN_FORMAT else _point)


def load_as_today(text: str) -> str:
    """Return the result of a load, as ``loadcurve load --json`` has printed it, in the same way."""
    return text if LOAD_FORMAT in text[:100] else _translated(text.encode(), _load).decode()


def _translated(text: bytes, translation: Callable[[Json], Json]) -> bytes:
    try:
        record = from_json(text)
    except ValueError:
        return text
    if not isinstance(record, dict):
        return text
    translated = translation(record)
    return text if translated is record else to_json(translated, inf_nan_mode="constants")


def _run(record: Json) -> Json:
    study = record.get("study")
    is_old = record.get("format") in OLD_RUN_FORMATS
    if not is_old or not isinstance(study, dict) or not isinstance(study.get("load"), dict):
        return record
    load = {_OLD_NAMES.get(key, key): value for key, value in study["load"].items()}
    servers = study.get("servers")
    if isinstance(servers, dict):
        # In an old run the load of a server may be a setting that a person's own description had.
        study = {**study, "servers": {name: _server(server) for name, server in servers.items()}}
    return {**record, "study": {**study, "load": _with_work(load)}}


def _server(server: object) -> object:
    if not isinstance(server, dict) or not isinstance(server.get("load"), dict):
        return server
    return {**server, "load": _with_work(server["load"])}


def _with_work(load: Json) -> Json:
    kind = kind_with_model(load.get("model"))
    return load if kind is None else {"work": kind.work, **load}


def _first_point(record: Json) -> Json:
    """Return the line of a point with its loads as measurements; another line as it is."""
    if _MEASURED not in record:
        return record
    loads = {name: record.pop(name, None) for name in (_LOADING, _MEASURED)}
    return _point(record | {"measurements": {name: load for name, load in loads.items() if load}})


def _point(record: Json) -> Json:
    loads = record.get("measurements")
    if not isinstance(loads, dict):
        return record
    return {**record, "measurements": {name: _load(load) for name, load in loads.items()}}


def _load(result: Any) -> Any:  # noqa: ANN401 -- JSON
    """Return the result of a load; another thing as it is."""
    if not isinstance(result, dict) or result.get("format") != _FIRST_LOAD_FORMAT:
        return result
    load = result.get("load")
    if isinstance(load, dict):
        load = _with_work(load)
        # Web servers all spoke HTTP.
        load = {**load, "protocol": load.pop("database", None) if load.get("work") == "ycsb" else "http"}
    return {**result, "format": LOAD_FORMAT, "load": load}
