"""Which path ``loadcurve init`` writes for an own application, where the person names none."""

import http
import tomllib
from collections.abc import Sequence
from pathlib import Path

from loadcurve.cli.console import new_console
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.runs.own_paths import OPENAPI, ROOT, AnsweredPaths, answered_paths
from loadcurve.server.answers import WHAT_HELPS
from loadcurve.server.catalog import load_catalog
from loadcurve.toml.document import TomlDocument

NAMED_MAX = 3
"""At most this many of the other paths are listed."""


def path_answered(text: str, file: Path, catalogs: Sequence[Path], again: str) -> str:
    """Return the path that an application answers with 200; ``text`` is its study, to be written to ``file``.

    ``again`` is the command to repeat, without a path. Raises ``BadInput`` where none is known, and
    ``NothingMeasured`` where the application does not start; both say that nothing was written.
    """
    document = TomlDocument(file, tomllib.loads(text), {})
    try:
        found = answered_paths(document, load_catalog(catalogs), _say)
    except NothingMeasured as failure:
        raise NothingMeasured(
            f"{failure}\nNothing was written. To write the study without a start, name a path:\n"
            f"  {again} --path /PATH"
        ) from None
    if found.path is None:
        raise BadInput(_what_to_name(found, again))
    if found.path != ROOT:
        others = ", ".join(found.named[1 : NAMED_MAX + 1])
        more = f"; {others} would do, too (--path)" if others else ""
        _say(
            f"GET {ROOT} is answered with status {found.status}, so the study asks for {found.path}, which "
            f"{found.named_by} names{more}"
        )
    return found.path


def _what_to_name(found: AnsweredPaths, again: str) -> str:
    helps = WHAT_HELPS[401] if found.status == http.HTTPStatus.UNAUTHORIZED else ""
    named = found.leads_to or "/PATH"
    where = f", which leads to {found.leads_to}" if found.leads_to else ""
    return (
        f"the application answers GET {ROOT} with status {found.status}{where}, not 200, and neither "
        f"its {OPENAPI} nor its source names a path that is answered with 200. Nothing was written.{helps} "
        "Name a path that it has:\n"
        f"  {again} --path {named}"
    )


def _say(text: str) -> None:
    new_console(stderr=True).print(text, soft_wrap=True, markup=False)
