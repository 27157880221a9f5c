"""The offer to compress messages: which are offers, where they belong, and what is said of the result."""

import json

import pytest

from loadcurve.loads.extension import NAME
from loadcurve.report.compression import compression_in_words
from loadcurve.result.compression import CompressionResult
from loadcurve.runs.plan import plan_at_point
from support.http_load_study import CLOSED, load_of, problems_in

WEBSOCKET = CLOSED + 'messages = "websocket"\n'


def offered(load):
    """What the engine is to offer."""
    plan = json.loads(plan_at_point(load, "127.0.0.1:1", {}, (0,), 0).to_json())
    return plan["http"]["work"]["messages"]["websocket"].get("extension")


@pytest.mark.parametrize(
    ("given", "offer"),
    [
        (NAME, NAME),
        (f"{NAME};server_no_context_takeover", f"{NAME}; server_no_context_takeover"),
        (f"{NAME}; server_max_window_bits=10; client_max_window_bits", None),
        (f"{NAME}; client_max_window_bits=15; client_no_context_takeover", None),
    ],
)
def test_an_offer_reaches_the_engine_in_its_usual_form(tmp_path, given, offer):
    load = load_of(tmp_path, WEBSOCKET + f'extension = "{given}"\n')
    assert offered(load) == (offer or given)


def test_nothing_is_offered_unless_it_is_asked_for(tmp_path):
    assert offered(load_of(tmp_path, WEBSOCKET)) is None


@pytest.mark.parametrize(
    "given",
    [
        "gzip",
        f"{NAME};",
        f"{NAME}; server_max_window_bits",
        f"{NAME}; server_max_window_bits=7",
        f"{NAME}; client_max_window_bits=010",
        f"{NAME}; server_no_context_takeover=1",
        f"{NAME}; client_max_window_bits; client_max_window_bits=9",
        f"{NAME}, {NAME}",
    ],
)
def test_what_is_no_offer_by_rfc_7692_is_refused_with_what_one_is(tmp_path, given):
    [problem] = problems_in(tmp_path, WEBSOCKET + f'extension = "{given}"\n')
    assert "load.extension" in problem
    assert f'expected "{NAME}", and behind it' in problem


def test_it_belongs_to_websocket_over_either_version_of_http_that_has_it(tmp_path):
    [problem] = problems_in(tmp_path, CLOSED + f'extension = "{NAME}"\n')
    assert 'only used with messages = "websocket"' in problem
    assert offered(load_of(tmp_path, WEBSOCKET + f'http = "2"\nextension = "{NAME}"\n')) == NAME


def test_a_report_says_what_was_agreed_on_what_was_declined_and_how_much_shorter_messages_were():
    none = {"messages": 0, "bytes": 0, "compressed_bytes": 0}
    result = CompressionResult.model_validate(
        {
            "agreed": [{"extension": f"{NAME}; client_max_window_bits=9", "connections": 3}],
            "declined": 2,
            "sent": {"messages": 1_000, "bytes": 500_000, "compressed_bytes": 20_000},
            "received": none,
        }
    )
    assert compression_in_words(result).splitlines() == [
        f"{NAME}; client_max_window_bits=9 on 3 WebSockets",
        "declined by the server on 2 WebSockets",
        "1,000 messages sent as 20 kB for 500 kB",
    ]
