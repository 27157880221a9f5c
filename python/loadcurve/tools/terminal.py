"""What a terminal, a web page or another coding has made of the characters that a tool printed."""

import re
from typing import Final

CLEAR: Final = "\x1b[2J"
_SEQUENCE: Final = (
    r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)|[()][0-9A-Za-z]|[=>78cDEHM]|)"
)
"""What steers a terminal: colours and the cursor, its title, its characters (ECMA-48, and those of xterm).

Of what is not known the escape alone.
"""
_STEERING: Final = re.compile(_SEQUENCE)
_STEERING_BYTES: Final = re.compile(_SEQUENCE.encode())
_BACK_AT_START: Final = re.compile(rb"^\r{1,9}(?!\n)", re.MULTILINE)
_PADDING: Final = re.compile(rb"(?<! ) {1,1000}(?=\r?$)", re.MULTILINE)
_LINE_END: Final = re.compile(rb"\r{1,9}\n")
_SPACES: Final = tuple(character.encode() for character in "\u00a0\u2007\u2009\u202f")
_OF_NO_WIDTH: Final = tuple(character.encode() for character in "\u200b\u200c\u200d\u2060\ufeff")
_ODD_START: Final = re.compile(
    rb"^[ \t]{0,99}(?:" + b"|".join((*_SPACES, *_OF_NO_WIDTH)) + rb')|"[ \t]{0,9}:[ \t]{0,9}\xc2\xa0',
    re.MULTILINE,
)
_PRINTED: Final = "µμ✓✗█↳…"
"""Characters beyond ASCII that tools print around figures."""
_CODINGS: Final = ("cp437", "cp850", "cp866", "cp1252", "latin-1")
"""As which programs read UTF-8 that assume another coding, such as that of the console on Windows."""


def without_colours(text: str) -> str:
    """Return a text without what steers a terminal."""
    return _STEERING.sub("", text) if "\x1b" in text else text


def is_steered(head: bytes) -> bool:
    """Say whether something in a text steers a terminal, but for what clears it before all is shown anew."""
    return b"\x1b" in head and CLEAR.encode() not in head


def unsteered(data: bytes) -> bytes:
    """Return a text without what steers a terminal, and without returns to the start of a line there."""
    return _BACK_AT_START.sub(b"", _STEERING_BYTES.sub(b"", data))


def has_odd_line_ends(head: bytes) -> bool:
    """Say whether lines end as neither on Unix nor on Windows: by CR alone, or by more than one."""
    return b"\r\r\n" in head or (b"\r" in head and b"\n" not in head)


def with_line_ends(data: bytes) -> bytes:
    """Return a text with the line ends of Unix."""
    return _LINE_END.sub(b"\n", data) if b"\n" in data else data.replace(b"\r", b"\n")


def has_odd_spaces(head: bytes) -> bool:
    """Say whether there are spaces in a text as web pages have them, or characters of no width."""
    return any(one in head for one in (*_SPACES, *_OF_NO_WIDTH))


def is_spaced_oddly(head: bytes) -> bool:
    """Say whether one of these is where none can be in a table or document: at the start of a line."""
    return _ODD_START.search(head) is not None


def with_plain_spaces(data: bytes) -> bytes:
    """Return a text with a plain space for each of those."""
    for one in _SPACES:
        data = data.replace(one, b" ")
    for one in _OF_NO_WIDTH:
        data = data.replace(one, b"")
    return data


_MICRO_OF_LATIN: Final = re.compile(rb"(?<=\d)\xb5(?=s\b)")


def has_latin_micro(head: bytes) -> bool:
    """Say whether a time has its µ in Latin-1, which is no UTF-8 behind a digit."""
    return _MICRO_OF_LATIN.search(head) is not None


def with_micro(data: bytes) -> bytes:
    """Return a text with those in UTF-8."""
    return _MICRO_OF_LATIN.sub("µ".encode(), data)


def is_indented(head: bytes) -> bool:
    """Say whether every line begins with a blank, as in a quotation of Markdown."""
    lines = [line for line in head.split(b"\n") if line.strip()]
    return bool(lines) and all(line[:1] in {b" ", b"\t"} for line in lines)


def without_indentation(data: bytes) -> bytes:
    """Return a text without the blanks that all of its lines begin with."""
    lines = data.split(b"\n")
    indents = [line[: len(line) - len(line.lstrip(b" \t"))] for line in lines if line.strip()]
    # What the first and the last one have in common by their order, all have.
    first, last = min(indents, default=b""), max(indents, default=b"")
    same = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return b"\n".join(line.removeprefix(first[:same]) for line in lines)


def is_padded(head: bytes) -> bool:
    """Say whether every line ends with spaces, as terminals fill them up."""
    lines = [line.rstrip(b"\r") for line in head.split(b"\n")[:-1] if line.strip()]
    return bool(lines) and all(line.endswith(b" ") for line in lines)


def without_padding(data: bytes) -> bytes:
    """Return a text without the spaces at the ends of lines."""
    return _PADDING.sub(b"", data)


def _taken_for_others() -> dict[str, str]:
    found = {}
    for character in _PRINTED:
        for coding in _CODINGS:
            try:
                found[character.encode().decode(coding)] = character
            except UnicodeDecodeError:
                continue
    return found


_TAKEN: Final = _taken_for_others()
_ANY_TAKEN: Final = re.compile("|".join(map(re.escape, sorted(_TAKEN, key=len, reverse=True))))


def restored(text: str) -> str:
    """Return a text whose signs, such as µ, were taken for those of another coding, with the right ones."""
    return text if text.isascii() else _ANY_TAKEN.sub(lambda found: _TAKEN[found[0]], text)
