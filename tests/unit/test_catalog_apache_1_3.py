"""The configuration for Apache 1.3, which cannot be had here, against what that version documents."""

import re

import pytest

from loadcurve.server.catalog import load_catalog
from loadcurve.server.private_folder import write_private_folder
from loadcurve.server.settings import choose_settings, fit_to_cpus

# https://httpd.apache.org/docs/1.3/mod/: core, mod_access, mod_log_config, mod_mime.
DOCUMENTED = {
    *("AccessConfig", "AllowOverride", "Directory", "DocumentRoot", "ErrorLog", "Group", "KeepAlive"),
    *("KeepAliveTimeout", "Listen", "ListenBacklog", "LockFile", "LogLevel", "MaxClients"),
    *("MaxKeepAliveRequests", "MaxRequestsPerChild", "MaxSpareServers", "MinSpareServers", "PidFile", "Port"),
    *("ResourceConfig", "ScoreBoardFile", "ServerName", "ServerRoot", "ServerType", "StartServers", "User"),
    *("Allow", "Deny", "Order"),
    *("CustomLog", "LogFormat"),
    *("AddType", "TypesConfig"),
}
"""The directives of Apache 1.3 that a description may use."""
CATALOG = load_catalog()


def directives(tmp_path, **given) -> list[list[str]]:
    """Return the words of each directive as the server reads it, sections included."""
    entry = CATALOG["apache-1.3"]
    described = entry.description
    settings = fit_to_cpus(described.settings, choose_settings(entry.name, described.settings, given), 2)
    names = {
        **settings,
        "address": "127.0.0.1",
        "port": 18001,
        "private": "/private",
        "scratch": "/private/scratch",
        "content": "/content",
        "user": "nobody",
        "group": "nogroup",
    }
    write_private_folder(tmp_path / "start", entry, names)
    lines = (tmp_path / "start" / "httpd.conf").read_text().splitlines()
    return [line.strip().strip("<>").split() for line in lines if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("access_log", [False, True])
def test_every_directive_is_one_of_apache_1_3(tmp_path, access_log):
    used = {words[0].lstrip("/") for words in directives(tmp_path, access_log=access_log)}
    assert used <= DOCUMENTED
    assert ("CustomLog" in used) == access_log


def test_settings_are_those_directives_that_apache_2_renamed(tmp_path):
    given = {"max_request_workers": 150, "max_connections_per_child": 7, "keepalive_requests": 0}
    values = {words[0]: words[1:] for words in directives(tmp_path, **given)}
    assert values["MaxClients"] == ["150"]
    assert values["MaxRequestsPerChild"] == ["7"]
    # For both of us 0 is any number.
    assert values["MaxKeepAliveRequests"] == ["0"]
    assert values["Listen"] == ["127.0.0.1:18001"]


def test_only_a_version_1_3_is_taken_for_one():
    pattern = re.compile(CATALOG["apache-1.3"].description.version.pattern)
    assert pattern.search("Server version: Apache/1.3.42 (Unix)\nServer built: x").group(1) == "1.3.42"
    assert pattern.search("Server version: Apache/2.4.68 (Debian)") is None
