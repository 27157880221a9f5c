"""Records of another version of a format, which are refused and not taken for damaged ones."""

from pathlib import Path
from typing import Any

from pydantic_core import from_json

from loadcurve.errors import BadInput

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
