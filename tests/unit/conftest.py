"""Shared by the unit tests."""

import pytest

from loadcurve.result.folder import Run, read_run
from support import synthetic_run as synthetic


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The synthetic run as it is read from its folder, in which no test writes."""
    return read_run(synthetic.write_run(tmp_path_factory.mktemp("synthetic") / "run"))
