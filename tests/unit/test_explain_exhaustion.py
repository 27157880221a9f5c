"""Ports, open files and places for connections of which there are none left."""

from loadcurve.explain.finding import Finding
from support.explained_run import Data, Setup, evidence, found, speak_http3


def test_time_wait_that_holds_the_ports_explains_requests_without_one():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["load"]["errors"]["address_unavailable"] = 25
        sockets = {"established_max": 10, "time_wait_max": 28_000, "orphaned_max": 0, "by_state_max": None}
        record["probe"]["sockets"] = sockets

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("ports_exhausted", "shown")
    # 32768 to 60999, both included.
    assert evidence(finding)["local ports"] == 28_232


def test_want_of_ports_without_time_wait_is_not_blamed_on_it():
    [finding] = found(lambda r, *_: r["load"]["errors"].update(address_unavailable=25)).values()
    assert (finding.code, finding.certainty) == ("ports_exhausted", "likely")


def test_want_of_open_files_is_reported_with_their_limit():
    [finding] = found(lambda r, *_: r["load"]["errors"].update(fd_unavailable=5)).values()
    assert finding.code == "descriptors_exhausted"
    assert evidence(finding)["limit of open files per process"] == 4096


def test_packets_dropped_by_connection_tracking_are_not_the_server_s_fault():
    [finding] = found(lambda r, *_: r["load"]["kernel"].update(tracking_drops=40)).values()
    assert (finding.code, finding.certainty) == ("tracking_full", "shown")
    assert evidence(finding)["packets dropped by connection tracking"] == 40
    assert "table of tracked connections was full" in (finding.briefly or "")


def test_a_kernel_that_drops_nothing_or_tracks_nothing_is_no_finding():
    assert not found(lambda r, *_: r["load"]["kernel"].update(tracking_drops=0))
    assert not found(lambda r, *_: r["load"]["kernel"].update(tracking_drops=None))


def test_a_server_with_fewer_places_than_connections_turns_them_away():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections > 64:
            record["load"]["errors"]["reset"] = 30

    by_code = found(plant, Setup(settings={"workers": 2, "worker_connections": 32}))
    assert set(by_code) == {"wrong_answers", "server_connections_exhausted"}
    assert (
        evidence(by_code["server_connections_exhausted"])["connections allowed by the server's settings"]
        == 64
    )


def test_streams_of_http3_take_places_of_the_server_and_those_of_a_replaced_connection_as_well():
    # nginx 1.26.3, 10 connections of 64 streams, with its 1,024 places: 2 x 10 x (1 + 64) = 1,300.
    def plant(announced: int) -> dict[str, Finding]:
        def change(record: Data, trial: int, connections: float) -> None:
            speak_http3(record, ends={"announced": announced})
            record["load"]["load"].update(connections=10, streams=64)
            record["load"]["errors"]["closed_early"] = 30

        return found(change, Setup(settings={"workers": 1, "worker_connections": 1024}))

    finding = plant(announced=180)["server_connections_exhausted"]
    assert evidence(finding)["connections and streams requested"] == 1300
    assert "each open stream counts" in (finding.cause or "")
    assert "server_connections_exhausted" not in plant(announced=0)
