"""The measured table of what real servers do: each row is whole, and found by a server's name and version."""

import pytest

from loadcurve.explain.behaviour import behaviour_of, behaviours
from loadcurve.server.catalog import load_catalog


def test_each_row_is_of_a_server_of_the_catalogue_once_for_its_settings():
    keys = [(one.server, *one.settings.items()) for one in behaviours()]
    assert len(keys) == len(set(keys))
    assert {one.server for one in behaviours()} <= {entry.name for entry in load_catalog()}


@pytest.mark.parametrize("one", behaviours(), ids=lambda one: f"{one.server} {one.settings}")
def test_what_was_seen_and_how_far_was_tried_exclude_each_other(one):
    for seen, tried in (
        (one.requests_per_connection, one.requests_tried),
        (one.idle_timeout_s, one.idle_tried_s),
        (one.connections, one.connections_tried),
    ):
        # Of a server that keeps no connection there is nothing to see.
        assert (seen is None) != (tried is None) or not one.keepalive
    assert (one.fresh_timeout_s is None) != (one.fresh_tried_s is None)


@pytest.mark.parametrize("one", behaviours(), ids=lambda one: f"{one.server} {one.settings}")
def test_a_row_is_found_by_the_servers_name_and_any_version_of_the_same_minor(one):
    major, minor, *_ = one.version.split(".")
    found = behaviour_of(one.server, f"{major}.{minor}.99-distribution nginx 1.0")
    assert found is not None
    assert found.settings == {}
    assert behaviour_of(one.server, "0.0.1") is None
    assert behaviour_of(one.server, None) is None
