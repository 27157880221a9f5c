"""A link between the machines that was full.

tests/e2e/test_other_machines.py has a real one.
"""

from typing import Any

import pytest

from loadcurve.explain.all import findings
from loadcurve.result.generator import Kernel, MachinePart
from loadcurve.result.probe import TcpUse
from loadcurve.result.records import OtherMachineRecord
from support.explained_run import Data, Setup, evidence, planted_run

MBIT_BYTES = 125_000
"""The bytes of a million bits."""


def interface(speed_bits_per_s: int | None, speed_from: str | None = "kernel") -> Data:
    unknown = {"driver": None, "mtu_bytes": None, "offloads": None}
    source = None if speed_bits_per_s is None else speed_from
    return unknown | {"name": "eth0", "speed_bits_per_s": speed_bits_per_s, "speed_from": source}


def link(here: Data | None, there: Data | None) -> Data:
    return {"here": here, "there": there, "round_trip_ms": None, "path_mtu_bytes": None}


GIGABIT = link(interface(None), interface(10**9))


def use(received_mbit_per_s: float, sent_mbit_per_s: float) -> Data:
    return {
        "received_bytes_per_s": received_mbit_per_s * MBIT_BYTES,
        "sent_bytes_per_s": sent_mbit_per_s * MBIT_BYTES,
    }


def found(plant: Any, known: Data | None = GIGABIT) -> dict[str, Any]:
    """The findings of a run whose server was on a machine with this link."""
    run = planted_run(plant, Setup(server={"server_machine": "web"}))
    machine = OtherMachineRecord.model_validate({"address": "10.0.0.5", "facts": {}, "link": known})
    record = run.run.model_copy(update={"machines": {"web": machine}})
    return {one.code: one for one in findings(type(run)(run.folder, record, run.records, "", cut_off=False))}


def planted(here: Data | None, there: Data | None) -> Any:
    def plant(record: Data, _trial: int, connections: float) -> None:
        record["probe"]["link"] = {"here": here, "there": there} if connections == 100 else None

    return plant


def test_answers_that_fill_the_link_are_found_with_its_speed_and_what_went_over_it():
    def plant(record: Data, trial: int, connections: float) -> None:
        planted(use(960, 10), use(10, 960))(record, trial, connections)
        record["probe"]["tcp"] = dict.fromkeys(TcpUse.model_fields) | {"retransmits": 70}

    [(code, finding)] = found(plant).items()
    assert (code, finding.weight, finding.points) == ("link_saturated", "invalidates", [{"connections": 100}])
    assert finding.seen == (
        "Machine web sent 960 Mbit/s on eth0, 96 % of the 1,000 Mbit/s of its link, as reported by its "
        "driver."
    )
    assert evidence(finding)["used share of the link's speed"] == pytest.approx(0.96)
    # The side that sends the answers sends segments again.
    assert evidence(finding)["segments retransmitted in that direction"] == 70


def test_requests_fill_it_as_answers_do():
    [finding] = found(planted(None, use(950, 10))).values()
    assert finding.seen.startswith("Machine web received 950 Mbit/s")


def test_the_interface_here_is_looked_at_too():
    known = link(interface(100_000_000), interface(10**9))
    [finding] = found(planted(use(93, 1), use(1, 93)), known).values()
    assert finding.seen.startswith("This machine received 93 Mbit/s on eth0, 93 % of the 100 Mbit/s")


def test_a_speed_that_a_person_gave_is_called_that():
    known = link(None, interface(20_000_000, "study"))
    [finding] = found(planted(None, use(1, 19)), known).values()
    assert finding.seen.endswith("95 % of the 20 Mbit/s of its link, as set by link_speed.")


def test_the_link_of_a_load_machine_is_looked_at_too():
    def plant(record: Data, _trial: int, connections: float) -> None:
        if connections != 100:
            return
        unknown = dict.fromkeys(MachinePart.model_fields)
        full = {"interface": interface(100_000_000), "use": use(2, 95)}
        free = {"interface": interface(10**9), "use": use(2, 95)}
        counted = dict.fromkeys(Kernel.model_fields) | {"retransmits": 12}
        parts = [
            unknown | {"machine": "free", "link": free},
            unknown | {"machine": "left", "link": full, "kernel": counted},
        ]
        record["load"]["machines"] = {"start_spread_ms": None, "start_error_ms": None, "parts": parts}

    [finding] = found(plant, None).values()
    assert finding.seen.startswith("Machine left sent 95 Mbit/s on eth0, 95 % of the 100 Mbit/s")
    assert evidence(finding)["segments retransmitted in that direction"] == 12


@pytest.mark.parametrize(
    ("here", "there", "known"),
    [
        pytest.param(None, use(10, 890), GIGABIT, id="89 % leave room"),
        pytest.param(None, use(10, 1200), GIGABIT, id="a link that carries more has another speed"),
        pytest.param(use(960, 10), None, GIGABIT, id="no speed is known of the end that was read"),
        pytest.param(use(960, 10), use(10, 960), link(interface(None), interface(None)), id="nor of any"),
        pytest.param(None, use(10, 960), link(None, interface(0)), id="a speed of nothing is none"),
        pytest.param(None, use(10, 960), link(None, None), id="no interface was found"),
        pytest.param(None, use(10, 960), None, id="nothing is known of the link, as in older records"),
        pytest.param(None, None, GIGABIT, id="nothing was read"),
    ],
)
def test_nothing_is_found_where(here: Data | None, there: Data | None, known: Data | None):
    assert found(planted(here, there), known) == {}
