"""What differs between a published run and a second one, apart from what was measured.

Figures that are "reproduced" by another version of a server say something else than those of the same one.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.history import conditions_digest, digest_of, digests_before
from loadcurve.analysis.private_facts import ADDRESS, LOGIN, NAME, PATH, without_private_facts
from loadcurve.analysis.publication import published_server
from loadcurve.result.differences import (
    DIGESTS,
    ConditionDifference,
    Difference,
    differences,
    is_unknown_or_off,
    server_differences,
    without_off,
)
from loadcurve.result.publication import PublishedRun, PublishedServer

OtherServer = Literal["version", "program", "configuration", "settings"]
"""In what a server differs from the published one, the weightiest first."""
OTHER_SERVERS: Final[tuple[OtherServer, ...]] = ("version", "program", "configuration", "settings")
ALWAYS_SAID: Final = frozenset({"kernel", "operating_system"})
"""Facts of machines that are named although the machines differ; of one machine all facts are."""
_MARKS: Final = (PATH, ADDRESS, LOGIN, NAME)


def what_differs(found: Iterable[Difference]) -> tuple[OtherServer, ...]:
    """Return in what a server differs, the weightiest first; nothing of one that is the same."""
    kinds = {_kind(one.name) for one in found}
    return tuple(kind for kind in OTHER_SERVERS if kind in kinds)


def _kind(name: str) -> OtherServer:
    if name == "version":
        return "version"
    if name.startswith(f"{DIGESTS}."):
        return "program"
    return "configuration" if name.startswith("configuration.") else "settings"


def of_servers(published: PublishedRun, new: Analysis) -> dict[str, tuple[Difference, ...]]:
    """Return how each server that the second run has found differs from the published one.

    What was replaced in the published file because it is private cannot be compared, and is no difference.
    """
    found = {name: one for name, one in new.run.servers.items() if one.status == "found"}
    return {
        one.name: tuple(
            _comparable(
                server_differences(_facts(one), _facts(published_server(one.name, found[one.name], 0)))
            )
        )
        for one in published.servers
        if one.name in found and not one.missing
    }


def of_conditions(published: PublishedRun, new: Analysis) -> tuple[ConditionDifference, ...]:
    """Return how the load, its content, the machine and the generator differ, as far as a file has them.

    Of content a file has no more than a digest together with the load: it is another one where the file's
    load with the content here has another digest, and the difference has the two digests. An option that is
    off on one side and that the other lacks is one that the version there did not know: it is no difference.
    """
    measured, content = (new.run.conditions[name] for name in ("load", "content"))
    load = _with_loads_of_others(measured, published, new.run.servers)
    found: list[ConditionDifference] = []
    if published.conditions not in _digests(load, content):
        options = [
            one for one in differences(published.load, _as_published(load)) if not is_unknown_or_off(one)
        ]
        found += [ConditionDifference(one.name, one.base, one.new, "load") for one in _comparable(options)]
        # Where the file leaves out what is private, this could differ as well as content.
        is_whole = not any(mark in json.dumps(published.load) for mark in _MARKS)
        if (is_whole or not options) and published.conditions not in _digests(published.load, content):
            digests = published.conditions, conditions_digest(new)
            found.append(ConditionDifference("content", *digests, "content"))
    facts = {name: new.run.conditions["machine"].get(name) for name in sorted(ALWAYS_SAID)}
    of_machine = {name: getattr(published.machine, name) for name in facts}
    found += [
        ConditionDifference(one.name, one.base, one.new, "machine")
        for one in _comparable(differences(of_machine, _as_published(facts)))
    ]
    versions = published.loadcurve_version, new.run.loadcurve_version
    if versions[0] != versions[1]:
        found.append(ConditionDifference("loadcurve_version", *versions, "generator"))
    return tuple(found)


def _with_loads_of_others(
    load: Mapping[str, Any], published: PublishedRun, measured: Collection[str]
) -> dict[str, Any]:
    """Return a load with those that the published file has for servers that were not to be measured again."""
    unmeasured = (one.name for one in published.servers if one.name not in measured)
    others = {name: own for name in unmeasured if (own := published.own_load(name))}
    return {**load, "servers": {**others, **load.get("servers", {})}} if others else dict(load)


def of_servers_measured(base: Analysis, measured: Collection[str]) -> Analysis:
    """Return the analysis of a run with the loads of these of its servers alone among its conditions."""
    load = dict(base.run.conditions["load"])
    own = load.get("servers") or {}
    load["servers"] = {name: one for name, one in own.items() if name in measured}
    conditions = base.run.conditions | {"load": load}
    return replace(base, run=replace(base.run, conditions=conditions)) if own else base


def _digests(load: Mapping[str, Any], content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what this version and earlier ones make of a load and its content."""
    return digest_of(without_off(load), content), *digests_before(load, content)


def _facts(server: PublishedServer) -> dict[str, Any]:
    return {
        "version": server.version,
        **_as_published(server.settings),
        "configuration": server.configuration,
        DIGESTS: server.programs,
    }


def _as_published(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts in the types of JSON, without what is private, as a published file has them."""
    plain: dict[str, Any] = without_private_facts(json.loads(json.dumps(facts, default=str)))
    return plain


def _comparable(found: Iterable[Difference]) -> Iterator[Difference]:
    """Yield the differences in facts that the published file has as a whole."""
    for one in found:
        if not any(mark in str(one.base) for mark in _MARKS):
            yield one
