"""The generator that each load asks for: ours, or another tool driven by the same plan."""

from collections.abc import Generator as Yielding
from collections.abc import Sequence
from typing import Final

from loadcurve.errors import BadInput
from loadcurve.generate.clocks import WatchingClocks
from loadcurve.generate.engine import ENGINE
from loadcurve.generate.generator import Generator, ObserveAll, ObserveLevel, Plan
from loadcurve.loads.values import ENGINE_NAME
from loadcurve.result.load import LoadResult
from loadcurve.tools.catalog import tool_named
from loadcurve.tools.driven import Driven


class Chosen(Generator):
    """Whatever generator the loads name."""

    def run_together(self, plans: Sequence[Plan], observe: ObserveAll) -> list[LoadResult]:
        """Run loads to their end by their generator; raises as that does."""
        return _generator_of(plans).run_together(plans, observe)

    def run_levels(self, plans: Sequence[Plan], observe: ObserveLevel) -> Yielding[LoadResult]:
        """Run one load through levels by its generator; raises as that does."""
        return _generator_of(plans).run_levels(plans, observe)


CHOSEN: Final[Generator] = Chosen()


def generator_name(plan: Plan) -> str:
    """Return what a load calls its generator."""
    return plan.load.generator


def _generator_of(plans: Sequence[Plan]) -> Generator:
    names = {generator_name(plan) for plan in plans}
    if names <= {ENGINE_NAME}:
        return ENGINE
    if len(plans) > 1:
        raise BadInput("only Loadcurve's own engine sends several loads at once")
    return WatchingClocks(Driven(tool_named(names.pop())))
