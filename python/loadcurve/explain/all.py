"""All findings of a run."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from loadcurve import explain
from loadcurve.explain.finding import WEIGHTS, Finding, FindingCode
from loadcurve.explain.observation import Rule
from loadcurve.explain.subject import subjects
from loadcurve.result.folder import Run


def _rules() -> list[Rule]:
    """Return the rule of each module of this package that has one."""
    modules = (
        import_module(f"{explain.__name__}.{one.name}") for one in pkgutil.iter_modules(explain.__path__)
    )
    rules: list[Rule] = [module.RULE for module in modules if hasattr(module, "RULE")]
    return sorted(rules, key=lambda rule: rule.place)


RULES = _rules()
"""What is looked for in each server's records."""

FINDINGS: Mapping[str, FindingCode] = {code.code: code for rule in RULES for code in rule.codes}
"""The table of findings: what may be found, by code."""


def findings(run: Run) -> list[Finding]:
    """Return what can be explained about a run, the weightiest first.

    Of equal weight, what is about a server comes before what is about the machine, a shown cause before a
    likely one, and what was seen at more points and in more trials before the rest. Only what the run folder
    holds is looked at, so a stored run gives the same findings again.

    Raises ``BadInput`` where a histogram cannot be decoded.
    """
    found = [one for subject in subjects(run) for rule in RULES for one in rule.find(subject)]
    return sorted(found, key=_order)


def _order(one: Finding) -> tuple[int, bool, bool, int]:
    of_machine, is_likely = FINDINGS[one.code].of_machine, one.certainty == "likely"
    return WEIGHTS.index(one.weight), of_machine, is_likely, -len(one.points) * len(one.trials)
