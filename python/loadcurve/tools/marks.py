"""What text editors and shells on Windows put around a text: byte-order marks, and UTF-16."""

import io
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from typing import BinaryIO, Final, cast

from loadcurve.tools.figures import Unreadable

UTF16_BYTES_MAX: Final = 64 * 2**20
_EXPECTED: Final = "UTF-8 text"


def without_mark(name: str, file: BinaryIO) -> BinaryIO:
    """Return a file that is at its start as UTF-8 without a mark.

    UTF-16, which ``>`` writes in Windows PowerShell, is read as a whole. Raises ``Unreadable`` where that is
    too long or broken.
    """
    begin = cast("io.BufferedReader", file).peek(len(BOM_UTF8))
    if begin.startswith(BOM_UTF8):
        file.read(len(BOM_UTF8))
        return file
    if not begin.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return file
    data = file.read(UTF16_BYTES_MAX + 1)
    if len(data) > UTF16_BYTES_MAX:
        raise Unreadable(name, None, f"UTF-16 text of more than {UTF16_BYTES_MAX:,} bytes", _EXPECTED)
    try:
        return io.BytesIO(data.decode("utf-16").encode())
    except UnicodeError as error:
        raise Unreadable(name, None, "UTF-16 text that is broken or cut off", _EXPECTED) from error
