"""A server that runs already: it is left as it is, and what is not known of it is not reported."""

import pytest

from loadcurve.server.attached import AttachedServer
from loadcurve.server.catalog import load_catalog
from loadcurve.server.running import RunningServer
from support.probed_load import load_of


@pytest.fixture
def attached():
    url, address = "http://user:secret@127.0.0.1:80", "127.0.0.1:80"
    return AttachedServer(
        RunningServer(load_catalog()["url"], url, address, address, "1.0", {}, "http"), None
    )


def test_its_processes_are_not_seen_and_this_is_said(attached):
    with attached as server, server.probe({0}, 0.1) as probe:
        record = probe.observed(load_of(0.01))
    assert [caveat.code for caveat in record.caveats] == ["processes_unknown"]
    assert (record.server, record.cpus, record.series) == (None, None, None)


def test_neither_its_configuration_nor_its_logs_nor_its_limits_are_known(attached):
    assert (attached.configuration, attached.log_tail(), attached.limit_use()) == ({}, "", None)
    assert "secret" not in str(attached.settings)
    attached.raise_if_exited()
    attached.stop()
    assert attached.address == "127.0.0.1:80"
