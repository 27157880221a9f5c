"""Servers in containers: the same life as on this machine itself, and nothing of them left."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from server_support import CATALOG, answer_to, members_of_session, wait_until

from loadcurve.host.cgroups import Limits
from loadcurve.server.build import build_of
from loadcurve.server.catalog import CatalogEntry, load_catalog
from loadcurve.server.container.found import location_of
from loadcurve.server.content import content_of_folder
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import FoundServer, Overrides, find_server
from loadcurve.server.here import Server
from loadcurve.study.container import ContainerTable
from support.containers import Containers
from support.tiny_study import write_built_server

LONG_S = 60


@pytest.fixture(autouse=True)
def _nothing_is_left(containers: Containers) -> Iterator[None]:
    yield
    left = containers.names()
    for name in left:
        # What one test leaves running would disturb all tests behind it.
        containers.engine.remove_container(name)
    assert left == []


def found_in(
    containers: Containers,
    entry: CatalogEntry,
    overrides: Overrides | None = None,
    settings: dict[str, object] | None = None,
    **keys: object,
) -> FoundServer:
    """Look for a server in a container, by default of the root filesystem of the tests."""
    asked = {"engine": containers.engine.name, "engine_arguments": list(containers.engine.arguments), **keys}
    if not asked.keys() & {"image", "rootfs"} and not (entry.folder / "Containerfile").exists():
        asked["rootfs"] = containers.rootfs
    given = overrides or Overrides()
    location = location_of(entry, ContainerTable.model_validate(asked), given.start, print)
    found = find_server(
        entry,
        settings or {},
        Overrides(
            start=given.start,
            version=given.version,
            version_command=given.version_command,
            limits=given.limits,
            location=location,
        ),
    )
    assert isinstance(found, FoundServer)
    return found


def in_rootfs(containers: Containers, name: str, **more: object) -> FoundServer:
    return found_in(containers, CATALOG[name], rootfs=containers.rootfs, **more)


def command(*words: str) -> Overrides:
    """Return what a study says of a command; its port is given behind these words."""
    return Overrides(start=[*words, "{port}"], version="1")


def started(found: FoundServer, content_folder: Path, cpus: set[int] | None = None) -> Server:
    return Server(found, content_folder, content_of_folder(content_folder), cpus)


def failure_of(found: FoundServer, content_folder: Path) -> ServerFailure:
    with pytest.raises(ServerFailure) as raised, started(found, content_folder):
        pass
    return raised.value


@pytest.mark.parametrize("network", ["host", "private"])
def test_a_server_in_a_container_serves_what_one_on_this_machine_serves(network, containers, content_folder):
    if network == "private":
        containers.require_private_network()
    with started(in_rootfs(containers, "limit", network=network), content_folder) as server:
        server.verify(["/1k.txt"])
        server.raise_if_exited()
        assert any("0.0.0.0" in word for word in _command_line(server.pid)) == (network == "private")


def _command_line(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def test_every_process_of_a_container_is_bound_to_the_servers_cpus(containers, content_folder):
    _require_nginx(containers)
    cpus = {max(os.sched_getaffinity(0))}
    found = in_rootfs(containers, "nginx", settings={"workers": 2})
    with started(found, content_folder, cpus) as server:
        # One master and two workers.
        wait_until(lambda: len(members_of_session(server.pid)) == 3)
        processes = members_of_session(server.pid)
        assert [os.sched_getaffinity(process) for process in processes] == [cpus] * 3


def test_a_server_in_a_container_has_the_certificate_of_its_start(containers, content_folder):
    _require_nginx(containers)
    containers.require_private_network()
    found = in_rootfs(containers, "nginx", settings={"tls": True}, network="private")
    with started(found, content_folder) as server:
        assert server.url.startswith("https://")
        server.verify(["/1k.txt"])


def test_the_version_is_that_of_the_program_in_the_image(containers, content_folder):
    script = "echo version 7.5"
    given = Overrides(start=["/opt/loadcurve-server", "{port}"], version_command=["sh", "-c", script])
    assert found_in(containers, CATALOG["command"], given).version == "7.5"


def test_what_does_not_end_when_it_is_asked_for_its_version_leaves_no_container(containers, monkeypatch):
    monkeypatch.setattr("loadcurve.server.found.VERSION_TIMEOUT_S", 1.0)
    given = Overrides(
        start=["/opt/loadcurve-server", "{port}"], version_command=["sh", "-c", "while :; do :; done"]
    )
    with pytest.raises(ServerFailure, match="did not end within 1 s"):
        found_in(containers, CATALOG["command"], given)


def test_a_first_process_that_is_deaf_to_the_stop_signal_is_killed_at_once(
    containers, tmp_path, content_folder
):
    # A shell that handles no signal; on this machine SIGTERM would end it.
    start = ["sh", "-c", "/opt/loadcurve-server limit --listen {address}:{port} --root {content}; exit 0"]
    folder = tmp_path / "catalog" / "deaf"
    folder.mkdir(parents=True)
    (folder / "server.toml").write_text(
        f'title = "deaf"\nfrom_study = "start"\n[stop]\ntimeout = "{LONG_S}s"'
    )
    entry = load_catalog([tmp_path / "catalog"])["deaf"]
    with started(found_in(containers, entry, command(*start)), content_folder) as server:
        server.verify(["/1k.txt"])
        stopped = time.monotonic()
    assert time.monotonic() - stopped < LONG_S / 2


def test_a_command_that_ends_early_is_reported_with_its_last_words(containers, content_folder):
    start = command("sh", "-c", "echo last words; exit 3")
    failure = failure_of(found_in(containers, CATALOG["command"], start), content_folder)
    assert failure.code == "died"
    assert "ended with status 3 before it was ready" in failure.text
    assert "last words" in failure.log_tail


def test_a_command_that_the_image_does_not_have_is_reported_in_the_engines_words(containers, content_folder):
    start = command("/no/such/program")
    failure = failure_of(found_in(containers, CATALOG["command"], start), content_folder)
    assert failure.code == "not_started"
    assert (
        f"could not be started in a container: {containers.engine.name} ended with status 127" in failure.text
    )
    assert "/no/such/program" in failure.log_tail


def test_a_program_that_the_image_does_not_have_is_missing(containers):
    location = location_of(
        CATALOG["caddy"],
        ContainerTable.model_validate(
            {
                "engine": containers.engine.name,
                "engine_arguments": list(containers.engine.arguments),
                "rootfs": containers.rootfs,
            }
        ),
        None,
        print,
    )
    missing = find_server(CATALOG["caddy"], {}, Overrides(location=location))
    assert not isinstance(missing, FoundServer)
    assert "no program caddy was found in the image localhost/loadcurve-rootfs:" in missing.reason


@pytest.mark.parametrize(
    ("limits", "against", "problem"),
    [
        (Limits(cpus=0.5), ["--cpus", "0.9"], "the limit of CPUs is not in effect"),
        (
            Limits(memory_bytes=64 << 20),
            ["--memory", "65m", "--memory-swap", "65m"],
            "the limit of memory is not in effect",
        ),
    ],
)
def test_a_container_that_the_engine_does_not_hold_to_its_share_is_not_measured(
    limits, against, problem, containers, content_folder
):
    given = Overrides(limits=limits)
    found = in_rootfs(containers, "limit", overrides=given, run_arguments=against)
    failure = failure_of(found, content_folder)
    assert failure.code == "limits_unavailable"
    assert f"{problem}, although {containers.engine.name} was asked to set it" in failure.text


def test_a_container_that_runs_on_other_cpus_is_not_measured(containers, content_folder, monkeypatch):
    usable = os.sched_getaffinity(0)
    inherited = os.sched_getaffinity
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: inherited(0) if pid == 0 else {*usable, 4095})
    failure = failure_of(in_rootfs(containers, "limit"), content_folder)
    assert failure.code == "limits_unavailable"
    assert "it is not bound to the CPUs of the server's side" in failure.text


def test_a_memory_limit_kills_what_needs_more_and_the_server_is_known_to_have_died(
    containers, content_folder
):
    script = "text=0123456789; while :; do text=$text$text; done"
    given = Overrides(start=["sh", "-c", script, "{port}"], version="1", limits=Limits(memory_bytes=32 << 20))
    failure = failure_of(found_in(containers, CATALOG["command"], given), content_folder)
    # The count of such kills goes away with the container, mostly before it can be read.
    assert failure.code in {"died", "out_of_memory"}
    # 128 and the number of SIGKILL.
    assert "ended with status 137" in failure.text


def test_a_containerfile_in_the_folder_of_an_entry_is_what_its_image_is_built_from(
    containers, tmp_path, content_folder
):
    with started(found_in(containers, _with_containerfile(containers, tmp_path)), content_folder) as server:
        server.verify(["/1k.txt"])


def test_a_server_that_was_built_here_runs_in_a_container(containers, tmp_path, content_folder, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_built_server(tmp_path / "catalog", "built")
    entry = load_catalog([tmp_path / "catalog"])["built"]
    build = build_of(entry)
    assert build is not None
    build.run(print)
    with started(found_in(containers, entry), content_folder) as server:
        server.verify(["/1k.txt"])
        assert _command_line(server.pid)[0] == str(build.folder / "server")


def test_an_image_that_cannot_be_built_is_reported_in_the_engines_words(containers, tmp_path):
    entry = _with_containerfile(containers, tmp_path, 'RUN ["sh", "-c", "echo no luck; exit 7"]')
    with pytest.raises(ServerFailure) as raised:
        found_in(containers, entry)
    assert raised.value.code == "not_built"
    assert "The image of demo cannot be built" in raised.value.text
    assert "no luck" in raised.value.log_tail


def test_an_image_runs_its_own_command_on_its_own_port_with_the_content_where_it_looks_for_it(
    containers, tmp_path, content_folder
):
    containers.require_private_network()
    own = 'CMD ["/opt/loadcurve-server", "limit", "--listen", "0.0.0.0:8080", "--root", "/site"]'
    image = location_of_built(containers, tmp_path, own)
    found = found_in(
        containers,
        CATALOG["command"],
        Overrides(version="1"),
        image=image,
        network="private",
        port=8080,
        content_folder="/site",
    )
    with started(found, content_folder) as server:
        server.verify(["/1k.txt"])
        assert server.port != 8080
        assert answer_to(server, "/1k.txt").status == 200


def location_of_built(containers: Containers, tmp_path: Path, instruction: str) -> str:
    """Build an image with an instruction and return its name."""
    return found_in(containers, _with_containerfile(containers, tmp_path, instruction)).location.image.name


def _with_containerfile(containers: Containers, tmp_path: Path, instruction: str = "") -> CatalogEntry:
    base = in_rootfs(containers, "limit").location.image.name
    folder = tmp_path / "catalog" / "demo"
    folder.mkdir(parents=True)
    (folder / "Containerfile").write_text(f"FROM {base}\n{instruction}\n")
    (folder / "server.toml").write_text(
        """
        title = "Demo"
        documentation = "https://www.rfc-editor.org/rfc/rfc9112"
        binary = ["/opt/loadcurve-server"]
        start = ["{binary}", "limit", "--listen", "{address}:{port}", "--root", "{content}"]
        [version]
        command = ["{binary}", "--version"]
        pattern = '^loadcurve-server (\\S+)'
        """
    )
    return load_catalog([tmp_path / "catalog"])["demo"]


def _require_nginx(containers: Containers) -> None:
    if not (containers.rootfs / "usr/sbin/nginx").exists():
        pytest.skip("needs nginx, which is not installed; on Debian: apt-get install nginx")
