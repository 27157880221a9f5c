"""The environment of servers, and of what prepares, builds and asks them: a short list of variables.

Who starts a run often has credentials in the environment. A server under test, what prints its version and
what builds it are programs of others: they get what is listed here, and what the study adds.
"""

import os
from collections.abc import Mapping

from loadcurve.redaction import is_secret_variable

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR")
"""The variables of this process that a server gets, too."""

OF_BUILDS = frozenset(
    {
        *("CC", "CXX", "AR", "LD", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "CPATH"),
        *("LIBRARY_PATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *(
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "JAVA_HOME",
        ),
    }
)
"""The variables that a build gets besides, in capitals or not."""

FAMILIES_OF_BUILDS = ("CARGO_", "CGO_", "GO", "MAVEN_", "RUST")
"""How the names of further ones begin, except those that secrets have, such as registries' tokens."""


def environment_of_servers(more: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a server on this machine, with ``more`` for this one."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ} | dict(more)


def environment_of_builds() -> dict[str, str]:
    """Return the whole environment of a build."""
    tools = {name: value for name, value in os.environ.items() if _is_of_builds(name)}
    return environment_of_servers(tools)


def _is_of_builds(name: str) -> bool:
    if name.upper() in OF_BUILDS:
        return True
    return name.startswith(FAMILIES_OF_BUILDS) and not is_secret_variable(name)
