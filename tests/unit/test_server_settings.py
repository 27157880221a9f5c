"""What a study may give a server's settings."""

import pytest

from loadcurve.errors import BadInput
from loadcurve.server.settings import (
    BooleanSetting,
    IntegerSetting,
    QuantitySetting,
    ShareSetting,
    TextSetting,
    choose_settings,
    fit_to_cpus,
)

DECLARED = {
    "workers": IntegerSetting(type="integer", default="auto", auto=True, doc=""),
    "backlog": IntegerSetting(type="integer", default=511, minimum=1, maximum=65535, doc=""),
    "keepalive": BooleanSetting(type="boolean", default=True, doc=""),
    "sync": TextSetting(type="text", default="auto", choices=["auto", "off"], doc=""),
    "delay": QuantitySetting(type="duration", default="0s", doc=""),
    "leak": QuantitySetting(type="size", default="0B", doc=""),
    "reset_share": ShareSetting(type="share", default=0, doc=""),
}


def test_a_setting_that_is_not_given_has_its_default():
    chosen = choose_settings("demo", DECLARED, {"backlog": 64})
    assert chosen == {
        "workers": "auto",
        "backlog": 64,
        "keepalive": True,
        "sync": "auto",
        "delay": "0s",
        "leak": "0B",
        "reset_share": 0,
    }


@pytest.mark.parametrize(
    ("given", "passed_on"),
    [
        ({"delay": "1.5ms"}, "1.5ms"),
        ({"delay": 2}, "2"),
        ({"delay": 0.00001}, "0.00001"),
        ({"leak": "1KiB"}, "1KiB"),
        ({"leak": 100}, "100"),
        ({"reset_share": 0.01}, 0.01),
        ({"reset_share": 1}, 1),
    ],
)
def test_a_duration_a_size_and_a_share_are_passed_on_as_they_are_written(given, passed_on):
    (name,) = given
    assert choose_settings("demo", DECLARED, given)[name] == passed_on


@pytest.mark.parametrize("given", ["auto", 0])
def test_auto_and_zero_become_the_number_of_cpus(given):
    chosen = choose_settings("demo", DECLARED, {"workers": given})
    assert fit_to_cpus(DECLARED, chosen, cpu_count=6)["workers"] == 6


def test_a_text_that_reads_auto_stays_a_text():
    assert fit_to_cpus(DECLARED, choose_settings("demo", DECLARED, {}), cpu_count=6)["sync"] == "auto"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"workers": -1}, 'at least 0, or "auto"'),
        ({"workers": False}, "whole number"),
        ({"workers": "many"}, "whole number"),
        ({"backlog": 0}, "at least 1 and at most 65535"),
        ({"backlog": 65536}, "at least 1 and at most 65535"),
        ({"backlog": 1.5}, "whole number"),
        ({"backlog": "auto"}, "whole number"),
        ({"keepalive": 1}, "true or false"),
        ({"sync": "on"}, 'one of "auto", "off"'),
        ({"sync": 1}, "text"),
        ({"delay": "soon"}, 'a duration such as "500ms"'),
        ({"delay": -1}, 'a duration such as "500ms"'),
        ({"delay": True}, 'a duration such as "500ms"'),
        ({"leak": "1.5B"}, 'a size such as "512B"'),
        ({"leak": 1.5}, 'a size such as "512B"'),
        ({"reset_share": 1.01}, "a number from 0 to 1"),
        ({"reset_share": "1%"}, "a number from 0 to 1"),
        ({"reset_share": float("nan")}, "a number from 0 to 1"),
    ],
)
def test_a_value_that_does_not_fit_is_bad_input_that_says_what_would(given, expected):
    with pytest.raises(BadInput) as caught:
        choose_settings("demo", DECLARED, given)
    (name,) = given
    assert f"`{name}` of the server demo" in str(caught.value)
    assert expected in str(caught.value)


def test_an_unknown_setting_is_bad_input_that_names_the_nearest():
    with pytest.raises(BadInput, match=r'no setting `worker`.*did you mean "workers"'):
        choose_settings("demo", DECLARED, {"worker": 2})
