"""The requests of a load as its table names them: a list, or a file of paths or of targets."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from loadcurve._engine import RequestList
from loadcurve.errors import BadInput
from loadcurve.loads.entries import Entry, ReadFrom, source_of
from loadcurve.loads.rates import RECORDED
from loadcurve.loads.requests import LongList, list_digest, open_requests
from loadcurve.loads.targets.file import TargetFile, entries_of, form_of, read_targets
from loadcurve.loads.targets.target import Origin, origin_of
from loadcurve.toml.expected import show
from loadcurve.toml.problems import Problem, own_problems
from loadcurve.units import listing, plural

OTHERS_MAX = 3
"""More servers that a file names are not reported at once."""

Read = tuple[Mapping[str, Any], tuple[str, ...], str | None]
"""The table of a load with its requests; where each is in a file, as ``file:line``; what that leaves out."""


def with_requests_read(table: Mapping[str, Any], folder: Path) -> Read:
    """Return the table of a load with the requests of the file that it names, from ``folder``.

    Raises:
        ValidationError: the file cannot be one of requests, or weights are in two places.

    """
    given = table.get("requests")
    if isinstance(given, str):
        return _of_file(folder / given, table)
    if isinstance(given, list) and "pick" not in table and any(map(has_weight, given)):
        return {**table, "pick": "weighted"}, (), None
    return table, (), None


def has_weight(entry: object) -> bool:
    """Whether a request has its own weight, in a table that may not have been checked."""
    weight = entry.get("weight") if isinstance(entry, dict) else getattr(entry, "weight", None)
    return weight is not None


def naming_others(entries: Sequence[Entry], hosts: Sequence[str], url: str | None) -> Iterator[str]:
    """Say which requests of a file name another server than the one that is loaded, each server once.

    Load goes only to the server under ``url``, or to those that a study starts; a file may name these, and
    the ``hosts`` for which they answer by the header of the load.
    """
    loaded = None if url is None else origin_of(url)
    others: dict[Origin, ReadFrom] = {}
    counts: Counter[Origin] = Counter()
    for source in filter(None, map(source_of, entries)):
        origin = source.origin
        if origin is not None:
            counts[origin] += 1
        if origin is not None and origin != loaded and not any(map(origin.is_named_by, hosts)):
            others.setdefault(origin, source)
    goes = "the servers of the study" if loaded is None else loaded.words
    first = next(iter(others.values()), None)
    if first is not None and first.is_of_archive:
        yield _of_several_hosts(first.file, counts, goes, loaded)
        return
    for origin, source in islice(others.items(), OTHERS_MAX):
        host, field = show(origin.authority), shlex.quote(f"Host: {origin.authority}")
        yield (
            f"{source.place}: names {origin.words}, but the load goes to {goes}; write the path alone, or, "
            f"where these answer for it, set the header Host to {host} (in a study headers = "
            f"{{ Host = {host} }}, of a load -H {field})"
        )


def _of_several_hosts(file: Path, counts: Counter[Origin], goes: str, loaded: Origin | None) -> str:
    """Say which servers an archive names, and how the requests of one are chosen."""
    named = [f"{one.words} ({count})" for one, count in counts.most_common(OTHERS_MAX)]
    more = [f"{len(counts) - OTHERS_MAX} more"] if len(counts) > OTHERS_MAX else []
    chosen = loaded if loaded is not None and loaded in counts else counts.most_common(1)[0][0]
    host, field = show(chosen.authority), shlex.quote(f"Host: {chosen.authority}")
    return (
        f"{file}: names {listing([*named, *more])}, but the load goes to {goes}; choose the requests of one "
        f"of them by the header Host, and the others are left out (of a load -H {field}, in a study "
        f"headers = {{ Host = {host} }})"
    )


def _hosts_of(table: Mapping[str, Any]) -> list[str]:
    """Return the values of ``Host`` in a table that may not have been checked: a list of them, or one."""
    headers = table.get("headers")
    given = headers.items() if isinstance(headers, dict) else ()
    named = [values for name, values in given if str(name).lower() == "host"]
    listed = [value for one in named for value in (one if isinstance(one, list | tuple) else [one])]
    return [value for value in listed if isinstance(value, str)]


def _left_out(targets: TargetFile) -> str | None:
    """Say what of an archive is no part of the load."""
    if not targets.left_out:
        return None
    count = sum(targets.left_out.values())
    shown = [f"{what} ({times})" for what, times in Counter(targets.left_out).most_common(OTHERS_MAX)]
    more = len(targets.left_out) - len(shown)
    named = listing([*shown, *([f"{more} more"] if more else [])])
    return (
        f"{targets.path}: {count:,} of {plural(count + len(targets.targets), 'request')} "
        f"{'is' if count == 1 else 'are'} left out, which went elsewhere: {named}"
    )


def _looks_like_a_path(file: Path) -> bool:
    """Say whether a text that names no file may be the path of a request, such as ``/products``."""
    at_root = file.is_absolute() and file.parent == file.parent.parent
    return not file.exists() and (at_root or (file.is_absolute() and not file.parent.exists()))


def _of_file(file: Path, table: Mapping[str, Any]) -> Read:
    try:
        if form_of(file) is not None:
            targets = read_targets(file).of_hosts(_hosts_of(table))
            entries = entries_of(targets)
            pick = {"pick": "weighted"} if "pick" not in table and any(map(has_weight, entries)) else {}
            return (
                {**table, "requests": entries, **pick},
                tuple(one.place for one in map(source_of, entries) if one),
                _left_out(targets),
            )
        return _of_list(file, open_requests(file), table)
    except BadInput as error:
        said = str(error)
        if _looks_like_a_path(file):
            said += (
                f"; in a study a path is in a list, requests = [{show(str(file))}], and a text names a file"
            )
        lines = enumerate(said.splitlines())
        raise own_problems([Problem(("requests", str(index)), line) for index, line in lines]) from None


def _of_list(file: Path, listed: RequestList, table: Mapping[str, Any]) -> Read:
    _require_one_use_of_weights(file, listed, table)
    if table.get("arrivals") == RECORDED:
        return {**table, "requests": LongList(file, listed, list_digest(file))}, (), None
    if listed.short is None or listed.has_statuses:
        return {**table, "requests": LongList(file, listed)}, (), None
    weights = [1.0 if weight is None else weight for _, weight, _ in listed.short]
    own_weights = {"weights": weights} if listed.has_weights else {}
    paths = [path for path, _, _ in listed.short]
    places = tuple(f"{file}:{line}" for _, _, line in listed.short)
    return {**table, "requests": paths, **own_weights}, places, None


def _require_one_use_of_weights(file: Path, listed: RequestList, table: Mapping[str, Any]) -> None:
    """Refuse weights in two places, or where nothing uses them."""
    if "weights" in table and listed.has_weights:
        text = f"set here and in {file}; keep one of the two"
        raise own_problems([Problem(("weights",), text)])
    if "weights" in table and (listed.short is None or listed.has_statuses):
        text = f"given for the {listed.count} requests of {file}; put the weights into that file"
        raise own_problems([Problem(("weights",), text)])
    if listed.has_weights and table.get("pick") != "weighted":
        text = f'{file} has weights, which require pick = "weighted" (or --pick weighted); or remove them'
        raise own_problems([Problem(("pick",), text)])
