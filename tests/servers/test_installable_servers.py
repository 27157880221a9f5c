"""Servers that this machine's own tools fetch from their registries, and that run from where they are."""

import pytest
from server_support import CATALOG

from loadcurve.errors import BadInput
from loadcurve.server.check import check_server
from loadcurve.server.found import Overrides
from loadcurve.server.installed.fetch import NEEDED
from loadcurve.server.installed.installation import install

INSTALLABLE = [
    pytest.param(entry, id=entry.name, marks=[pytest.mark.needs(tool) for tool in NEEDED[recipe.registry]])
    for entry in CATALOG
    if (recipe := entry.description.recipe) is not None and recipe.name == entry.name
]


@pytest.mark.long
@pytest.mark.parametrize("entry", INSTALLABLE)
def test_a_server_is_fetched_starts_answers_as_verified_and_stops(entry, state):
    installed = install(entry.description.recipe, state / "servers")
    for folder in (state / "servers", *(state / "servers").rglob("bin")):
        assert folder.stat().st_mode & 0o055 == 0o055, "other users may run it"
    checked = check_server(entry, Overrides(binary=installed.program))
    assert checked.found.binary == installed.program


@pytest.mark.long
@pytest.mark.needs("apt-get")
def test_a_version_that_debian_no_longer_has_is_said_with_those_that_it_has(state):
    recipe = CATALOG["mini-httpd"].description.recipe
    [package] = recipe.packages
    other = recipe.model_copy(update={"packages": [package.model_copy(update={"version": "1.0-1"})]})
    with pytest.raises(BadInput, match=f"has {package.version}.*; expected mini-httpd 1.0-1"):
        install(other, state / "servers")
    assert [path.name for path in (state / "servers").iterdir()] == [".lock"]
