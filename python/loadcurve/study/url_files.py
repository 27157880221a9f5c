"""The files that the URL of a database names, such as the certificates that are trusted."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote, unquote

TRUSTED_BY_THE_MACHINE: Final = "system"
"""What PostgreSQL's ``sslrootcert`` has in the place of a file."""
UrlFileKind = Literal["input", "private key"]
FILE_OPTIONS: Final[Mapping[str, UrlFileKind]] = {
    "sslrootcert": "input",
    "sslcert": "input",
    "sslkey": "private key",
    "tlscafile": "input",
    "tlscertificatekeyfile": "private key",
}
"""The options of PostgreSQL and MongoDB that name files, in lower case. A file of the last one has a key."""
_OPTION = re.compile(r"[?&](?P<name>\w+)=(?P<file>[^&]+)")


@dataclass(frozen=True)
class UrlFile:
    """A file that a URL names."""

    begin: int
    end: int
    """Where in the URL its name is, percent-encoded."""
    name: str
    """As the URL has it, decoded."""
    file: Path
    kind: UrlFileKind


def files_in_url(url: str, folder: Path) -> Iterator[UrlFile]:
    """Yield the files of a URL; a relative path is from this folder."""
    # Before the last @ may be a password that is not encoded.
    for found in _OPTION.finditer(url, url.rfind("@") + 1):
        name = unquote(found["file"])
        kind = FILE_OPTIONS.get(found["name"].lower())
        if kind is not None and name != TRUSTED_BY_THE_MACHINE:
            yield UrlFile(*found.span("file"), name, folder / name, kind)


def with_absolute_files(url: str, folder: Path) -> str:
    """Return a URL in which the paths of files are absolute."""
    for found in reversed([*files_in_url(url, folder)]):
        url = url[: found.begin] + quote(str(found.file)) + url[found.end :]
    return url
