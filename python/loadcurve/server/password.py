"""The password of a database that is kept apart from its URL."""

import re
from urllib.parse import quote

from loadcurve.errors import BadInput
from loadcurve.loads.kinds import kind_of_url
from loadcurve.redaction import remember, without_password

_END_OF_HOSTS = re.compile(r"(?=[/?#])")


def with_password(url: str, password: str) -> str:
    """Return the URL of a database with the password of the user that it names.

    Raises ``BadInput``: it is no database's URL, names no user, or has a password already.
    """
    remember(password)
    kind = kind_of_url(url)
    if kind is None or not kind.has_driver:
        raise BadInput("passwords are for databases; for a web server, set a header such as Authorization")
    scheme, _, rest = url.partition("://")
    authority, *place = _END_OF_HOSTS.split(rest, maxsplit=1)
    user, at, hosts = authority.rpartition("@")
    shown = without_password(url)
    if not at or not user:
        raise BadInput(f"{shown} has no user; expected the password's user before the host, as in USER@HOST")
    if ":" in user:
        raise BadInput(f"{shown} already contains a password; keep one of the two")
    return f"{scheme}://{user}:{quote(password, safe='')}@{hosts}{''.join(place)}"
