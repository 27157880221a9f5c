"""The user that a server becomes if root starts it, and what it may then do."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from server_support import CATALOG, SERVERS, own_place, servers

import loadcurve.server.launch as launch_module
from loadcurve.server.content import make_content
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import NATIVE_FOLDER, Overrides, find_server
from loadcurve.server.here import Server
from loadcurve.server.privileges import ServerUser
from loadcurve.server.reach import ACCESS_LIST, closed_folder, reachable_part
from loadcurve.server.settings import UnusableSetting

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a server as another user")


@pytest.fixture
def place(tmp_path_factory):
    with own_place(tmp_path_factory) as folder:
        make_content(folder / "content", {"1k.txt": 1024}, seed=1)
        yield folder


def facts(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.split() for name, _, value in (line.partition(":") for line in lines)}


def processes_of(server):
    """The facts of every process in the server's session; one may end at any moment."""
    found = []
    for pid in (int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()):
        with suppress(OSError):
            if os.getsid(pid) == server.pid:
                found.append(facts(pid))
    return found


def started(entry, place, **more):
    content = make_content(place / "content", {"1k.txt": 1024}, seed=1)
    return Server(find_server(entry, {}, Overrides(**more)), place / "content", content)


@servers("limit", *SERVERS)
def test_no_process_of_a_server_can_gain_privileges_and_none_is_roots(name, place):
    with started(CATALOG[name], place) as server:
        for status in processes_of(server):
            assert status["NoNewPrivs"] == ["1"]
            assert int(status["CapEff"][0], 16) == int(status["CapPrm"][0], 16) == 0
            assert "0" not in status["Uid"]


@as_root
def test_a_server_stays_roots_where_the_study_says_so(place):
    with started(CATALOG["limit"], place, user="root") as server:
        assert facts(server.pid)["Uid"] == ["0"] * 4


@as_root
def test_a_server_becomes_the_user_that_the_study_names(place):
    with started(CATALOG["limit"], place, user="daemon") as server:
        assert facts(server.pid)["Uid"] == [str(pwd.getpwnam("daemon").pw_uid)] * 4


def test_a_server_may_open_its_standard_output_anew(place):
    command = ": > /dev/stdout; exec {binary} limit --listen {address}:{port} --root {content}"
    with started(CATALOG["limit"], place, start=["sh", "-ec", command]) as server:
        server.verify(["/1k.txt"])


@as_root
def test_a_user_that_the_system_does_not_know_is_a_problem_of_the_study():
    with pytest.raises(UnusableSetting, match='found "no-such-user", but the system lacks this user'):
        find_server(CATALOG["limit"], {}, Overrides(user="no-such-user"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root can")
def test_an_ordinary_user_starts_no_server_as_another_user(place):
    with pytest.raises(UnusableSetting, match="only root can start a server as another user"):
        started(CATALOG["limit"], place, user="daemon")


@pytest.fixture
def closed(place):
    """A folder through which only root can pass, as its home."""
    folder = place / "closed"
    folder.mkdir(mode=0o700)
    return folder


@as_root
def test_our_own_program_runs_from_where_only_root_can_reach_it(place, closed, monkeypatch):
    shutil.copy(NATIVE_FOLDER / "loadcurve-server", closed)
    monkeypatch.setattr(launch_module, "NATIVE_FOLDER", closed)
    server = started(CATALOG["limit"], place)
    server.found = replace(server.found, binary=closed / "loadcurve-server")
    with server:
        server.verify(["/1k.txt"])
        assert "0" not in facts(server.pid)["Uid"]


@as_root
def test_built_parts_are_copied_from_where_only_root_can_reach_them(place, closed):
    user = ServerUser.named("nobody")
    assert user is not None
    (closed / "jars" / "more").mkdir(parents=True, mode=0o700)
    for name in ("jars/a.jar", "jars/more/b.jar", "one.txt"):
        (closed / name).write_text(name)
        (closed / name).chmod(0o600)
    copies = place / "copies"
    copies.mkdir()
    folder = reachable_part(user, closed / "jars", closed, copies)
    file = reachable_part(user, closed / "one.txt", closed, copies)
    read = ["cat", folder / "a.jar", folder / "more" / "b.jar", file]
    shown = subprocess.run(
        read, capture_output=True, text=True, check=True, user=user.ids[0], group=user.ids[1]
    )
    assert shown.stdout == "jars/a.jarjars/more/b.jarone.txt"
    # What others can read, and what is not ours, stays where it is.
    assert reachable_part(user, copies / "jars", copies, closed) == copies / "jars"
    assert reachable_part(user, closed / "jars", copies, copies) == closed / "jars"


@as_root
def test_a_program_that_its_user_cannot_reach_is_named_with_the_folder_that_is_closed(place, closed):
    program = closed / "server"
    shutil.copy(NATIVE_FOLDER / "loadcurve-server", program)
    with (
        pytest.raises(
            ServerFailure, match=f"run {program}, because other users have no access to {closed}.*root"
        ),
        started(CATALOG["limit"], place, binary=program),
    ):
        pass


@as_root
def test_content_that_its_user_cannot_reach_is_named_with_the_folder_that_is_closed(place, closed):
    content = make_content(closed / "content", {"1k.txt": 1024}, seed=1)
    found = find_server(CATALOG["nginx"], {})
    with (
        pytest.raises(
            ServerFailure, match=f"reach {closed}/content, because other users have no access to {closed}"
        ) as one,
        Server(found, closed / "content", content),
    ):
        pass
    assert one.value.code == "not_started"


@as_root
def test_a_temporary_folder_that_its_user_cannot_reach_is_named_with_what_to_set(place, closed, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(closed))
    with (
        pytest.raises(
            ServerFailure, match=f"because other users have no access to {closed}. Set TMPDIR to a folder"
        ),
        started(CATALOG["limit"], place),
    ):
        pass


@as_root
def test_a_script_that_its_user_cannot_read_is_a_failure_that_names_the_user_and_the_setting(place, closed):
    script = closed / "server.sh"
    script.write_text("exec sleep 600")
    script.chmod(0o644)
    with (
        pytest.raises(ServerFailure, match=r'as the user nobody.*user = "root"') as one,
        started(CATALOG["limit"], place, version="1", start=["sh", str(script), "{port}"]),
    ):
        pass
    assert one.value.code == "died"


@as_root
def test_of_several_programs_the_first_is_taken_that_the_servers_user_can_run(place, closed):
    copies = [shutil.copy(NATIVE_FOLDER / "loadcurve-server", folder) for folder in (closed, place)]
    described = CATALOG["limit"].description.model_copy(update={"binary": copies})
    entry = replace(CATALOG["limit"], description=described)
    assert find_server(entry, {}).binary == Path(copies[1])
    assert find_server(entry, {}, Overrides(user="root")).binary == Path(copies[0])


@as_root
def test_a_folder_with_a_list_of_users_is_not_taken_for_closed(closed, monkeypatch):
    nobody = ServerUser.named("nobody")
    assert closed_folder(nobody, closed / "file") == closed
    monkeypatch.setattr(os, "listxattr", lambda _: [ACCESS_LIST])
    assert closed_folder(nobody, closed / "file") is None


@pytest.mark.skipif(
    subprocess.run(["unshare", "--user", "--map-root-user", "true"], check=False).returncode != 0,
    reason="needs user namespaces",
)
def test_root_of_a_namespace_without_other_users_starts_a_server_as_itself(place):
    check = [Path(sys.executable).with_name("loadcurve"), "servers", "check", "limit"]
    command = ["unshare", "--user", "--map-root-user", *check]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert "verified" in finished.stdout


def test_a_link_that_a_server_plants_for_its_log_is_not_followed(place):
    secret = place / "secret"
    secret.write_text("Xq7VtZw9Kp")
    with started(CATALOG["nginx"], place) as server:
        log = next(place.glob("tmp/loadcurve-nginx-*/private/error.log"))
        log.unlink()
        log.symlink_to(secret)
        assert "Xq7Vt" not in server.log_tail()
