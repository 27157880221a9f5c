"""What is said when a real server cannot be started, and how it is said: in the server's own words."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from server_support import CATALOG, SERVERS, give_port_first, is_root, server_of, servers, wait_until

import loadcurve.server.launch as launch_module
from loadcurve.server.catalog import read_entry
from loadcurve.server.content import content_of_folder
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer, Overrides, find_server
from loadcurve.server.here import Server

STARTS_IN_THE_BACKGROUND = {
    "nginx": ["{binary}", "-p", "{private}", "-c", "{private}/nginx.conf", "-g", "daemon on;"],
    "apache-event": ["{binary}", "-d", "{private}", "-f", "{private}/httpd.conf", "-k", "start"],
    "lighttpd": ["{binary}", "-f", "{private}/lighttpd.conf"],
    "mini-httpd": [
        *("{binary}", "-C", "{private}/mini_httpd.conf"),
        *("-h", "{address}", "-p", "{port}", "-d", "{content}"),
    ],
    "h2o": ["{binary}", "-m", "daemon", "-c", "{private}/h2o.conf"],
    "caddy": ["{binary}", "start", "--config", "{private}/caddy.json", "--pidfile", "{private}/pid"],
}
"""How each server is started so that it goes into the background, as its package does."""


def failure_of(entry, content_folder, **settings):
    with pytest.raises(ServerFailure) as caught, server_of(entry, content_folder, **settings):
        pass
    return caught.value


# Gunicorn tries for five seconds.
@servers(*(name for name in SERVERS if name != "gunicorn"))
def test_a_server_that_says_that_its_port_is_taken_gets_another(name, content_folder, monkeypatch):
    with socket.socket() as other:
        # As it does not listen, nobody sees it but a server that wants the same port.
        other.bind(("127.0.0.1", 0))
        taken = other.getsockname()[1]
        give_port_first(monkeypatch, taken)
        with server_of(CATALOG[name], content_folder) as server:
            assert server.port != taken


@servers(*SERVERS)
def test_a_configuration_that_the_server_does_not_understand_is_reported_in_its_own_words(
    name, content_folder, tmp_path
):
    packaged = CATALOG[name]
    # Pages and settings of PHP are nothing that a web server refuses, nor what is behind a proxy.
    others = (".php", ".ini", ".sh", "behind.conf")
    file = next(file for file in packaged.description.config if not file.endswith(others))
    good = packaged.description.config[file]
    (tmp_path / "broken").write_text(f'{{% include "{good}" %}}\nloadcurve {{ is = not [a\n')
    description = f'base = "{packaged.folder}/server.toml"\nconfig."{file}" = "broken"\n'
    (tmp_path / "server.toml").write_text(description)
    failure = failure_of(read_entry(tmp_path), content_folder)
    assert failure.code == ("config_rejected" if packaged.description.check else "died")
    # An interpreter adds by which way it came there, Envoy the file. Caddy names the place alone, others the
    # unknown word.
    assert name in {"envoy", "gunicorn", "uvicorn", "puma"} or failure.log_tail.count("\n") < 10
    assert ("caddy.json" if name == "caddy" else "loadcurve") in failure.log_tail
    assert all(line in str(failure) for line in failure.log_tail.splitlines())


@servers("nginx-php")
def test_a_web_server_is_not_started_without_the_program_behind_it(name, content_folder, tmp_path):
    (tmp_path / "broken").write_text("loadcurve is = not [a\n")
    (tmp_path / "server.toml").write_text(
        f'base = "{CATALOG[name].folder}/server.toml"\nconfig."php-fpm.conf" = "broken"\n'
    )
    failure = failure_of(read_entry(tmp_path), content_folder)
    assert failure.code == "died"
    assert "php-fpm.conf" in failure.log_tail


@servers(*STARTS_IN_THE_BACKGROUND)
@pytest.mark.parametrize("group", ["as here", "none"])
def test_a_server_that_goes_into_the_background_is_found_there_and_ended(
    name, group, content_folder, monkeypatch
):
    # An ordinary user has no control group, in which the kernel would tell whose a process is.
    if group == "none":
        monkeypatch.setattr(launch_module, "group_parent", lambda: None)
    looked_for = find_server(CATALOG[name], {}, Overrides(start=STARTS_IN_THE_BACKGROUND[name]))
    server = Server(looked_for, content_folder, content_of_folder(content_folder))
    with pytest.raises(ServerFailure, match=" ended with status 0 ") as caught, server:
        # The server in the background may answer before the one in the foreground has ended.
        wait_until(server.raise_if_exited)
    assert caught.value.code == "died"
    assert "It still runs in the background: its start command must keep it" in caught.value.text


@servers("nginx", "apache-event")
def test_a_rejected_setting_is_reported_with_the_line_of_the_configuration(name, content_folder):
    setting = {"nginx": "worker_connections", "apache-event": "listen_backlog"}[name]
    failure = failure_of(CATALOG[name], content_folder, **{setting: 10**30})
    assert failure.code == "config_rejected"
    assert ".conf:" in failure.log_tail or "on line" in failure.log_tail


@servers("nginx")
@is_root
def test_content_that_the_workers_of_roots_server_cannot_reach_is_explained(name, state):
    folder = state / "closed"
    folder.mkdir(mode=0o700)
    (folder / "1k.txt").write_bytes(b"x")
    entry = CATALOG[name]
    ready = entry.description.ready.model_copy(update={"timeout_s": 1.5})
    changes = {"ready": ready, "user": ["root"]}
    impatient = replace(entry, description=entry.description.model_copy(update=changes))
    failure = failure_of(impatient, folder)
    assert failure.code == "not_ready"
    assert "must be able to enter" in failure.text
    assert "Permission denied" in failure.log_tail


@servers("nginx")
def test_a_given_program_that_is_not_executable_is_named(name, tmp_path):
    program = tmp_path / "nginx"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o644)
    missing = find_server(CATALOG[name], {}, Overrides(binary=program))
    assert isinstance(missing, MissingServer)
    assert missing.failure().code == "not_started"
    assert f"{program} is not executable; if it is the program, run: chmod +x" in missing.failure().text


@servers("nginx")
def test_a_program_that_is_no_nginx_has_no_known_version(name):
    with pytest.raises(ServerFailure, match="is not measured") as caught:
        find_server(CATALOG[name], {}, Overrides(binary=Path("/bin/echo")))
    assert caught.value.code == "version_unknown"
    assert caught.value.log_tail == "-v"
