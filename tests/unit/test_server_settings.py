"""What a study may give a server's settings."""

import pytest

from loadcurve.errors import BadInput
from loadcurve.server.settings import (
    BooleanSetting,
    IntegerSetting,
    TextSetting,
    choose_settings,
    fit_to_cpus,
)

DECLARED = {
    "workers": IntegerSetting(type="integer", default="auto", auto=True, doc=""),
    "backlog": IntegerSetting(type="integer", default=511, minimum=1, maximum=65535, doc=""),
    "keepalive": BooleanSetting(type="boolean", default=True, doc=""),
    "sync": TextSetting(type="text", default="auto", choices=["auto", "off"], doc=""),
}


def test_a_setting_that_is_not_given_has_its_default():
    chosen = choose_settings("demo", DECLARED, {"backlog": 64})
    assert chosen == {"workers": "auto", "backlog": 64, "keepalive": True, "sync": "auto"}


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
