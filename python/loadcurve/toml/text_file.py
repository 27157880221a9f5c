"""Reading a text file that a person has named."""

from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.files import read_given

BYTE_ORDER_MARK = "\ufeff"
TEXT_BYTES_MAX = 64 << 20
"""Many times what any of these files has."""


def read_text(path: Path, expected: str) -> str:
    """Return the text of a file without a byte order mark; ``expected`` says what should have been there.

    Raises ``BadInput``: the file cannot be read, or is not UTF-8; then with the line.
    """
    require_utf8(path, "rename the file or the folder")
    try:
        content, _ = read_given(path, TEXT_BYTES_MAX)
    except FileNotFoundError as error:
        raise BadInput(f"{path}: there is no such file") from error
    except IsADirectoryError as error:
        raise BadInput(f"{path}: this is a folder; expected {expected}") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    try:
        return content.decode().removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path}:{line}: not UTF-8 text; expected {expected}") from error


def require_utf8(path: Path, advice: str) -> None:
    """Require a path that records can hold; raises BadInput where bytes of it are no UTF-8."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise BadInput(f"{path}: the path is not valid UTF-8, but records contain it; {advice}") from None
