"""A difference flame graph: what two profiles spend in each function, and where they differ.

A box is as wide as the more expensive of the two sides is there, and lies on the function that called it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from loadcurve.result.cpu_time import Profile, ProfiledPair, Stack

DEPTH_MAX = 60
"""What lies deeper is drawn as part of its caller."""
WIDTH_LEAST = 0.001
"""A box with a smaller share of the graph is not drawn."""
STRONG_SHARE = 0.05
"""A difference of this share of all processor time has the strongest colour."""
FUNCTIONS_MOST = 12


@dataclass(frozen=True, slots=True)
class Box:
    """A function as it was called, by shares of the graph's width."""

    name: str
    left: float
    width: float
    depth: int
    base_us: float
    head_us: float
    strength: float
    """From -1, far less in the head, to 1, far more."""


@dataclass(frozen=True, slots=True)
class FunctionCost:
    """What a function itself takes for a request on both sides, without those that it calls."""

    name: str
    base_us: float
    head_us: float


@dataclass(frozen=True, slots=True)
class FlameGraph:
    """The boxes of a graph, and the functions that differ most."""

    boxes: tuple[Box, ...]
    functions: tuple[FunctionCost, ...]
    base_us: float
    """Processor time for a request, in all."""
    head_us: float

    @property
    def depth(self) -> int:
        """How many rows it has."""
        return max((box.depth for box in self.boxes), default=0) + 1


@dataclass(slots=True)
class _Node:
    """A function below its callers; index 0 is the base, 1 the head."""

    own: list[float] = field(default_factory=lambda: [0.0, 0.0])
    total: list[float] = field(default_factory=lambda: [0.0, 0.0])
    below: dict[str, "_Node"] = field(default_factory=dict)

    def add(self, stack: Stack, side: int, us: float) -> None:
        node = self
        node.total[side] += us
        for name in stack[:DEPTH_MAX]:
            node = node.below.setdefault(name, _Node())
            node.total[side] += us
        node.own[side] += us

    @property
    def width(self) -> float:
        """Of the box: at least as much as those above it are wide together."""
        return max(self.own) + sum(one.width for one in self.below.values())


def flame_graph(pair: ProfiledPair) -> FlameGraph | None:
    """Return the graph of two profiles; ``None`` where one has no sample, or its requests are not known."""
    root = _Node()
    for side, profile in enumerate((pair.base, pair.head)):
        if profile.us_per_sample is None or not profile.stacks:
            return None
        for stack, samples in profile.stacks.items():
            root.add(stack, side, samples * profile.us_per_sample)
    base_us, head_us = root.total
    return FlameGraph(
        tuple(_Layout(root.width, max(root.total)).boxes(root, "all", 0.0, 0)),
        tuple(_functions(pair)[:FUNCTIONS_MOST]),
        base_us,
        head_us,
    )


@dataclass(frozen=True, slots=True)
class _Layout:
    """What boxes are shares of."""

    width: float
    total_us: float

    def boxes(self, node: _Node, name: str, left: float, depth: int) -> Iterator[Box]:
        """Yield the box of a function, and those of what it calls, side by side above it."""
        share = node.width / self.width
        if share < WIDTH_LEAST:
            return
        base_us, head_us = node.total
        strength = (head_us - base_us) / self.total_us / STRONG_SHARE
        yield Box(name, left, share, depth, base_us, head_us, max(-1.0, min(1.0, strength)))
        for below, one in sorted(node.below.items()):
            yield from self.boxes(one, below, left, depth + 1)
            left += one.width / self.width


def _functions(pair: ProfiledPair) -> list[FunctionCost]:
    """Return the functions by their own time, those that differ most first."""
    base, head = (_own_us(profile) for profile in (pair.base, pair.head))
    found = [
        FunctionCost(name, base.get(name, 0.0), head.get(name, 0.0)) for name in base.keys() | head.keys()
    ]
    return sorted(found, key=lambda one: (-abs(one.head_us - one.base_us), one.name))


def _own_us(profile: Profile) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for stack, samples in profile.stacks.items():
        found[stack[-1]] = found.get(stack[-1], 0.0) + samples * (profile.us_per_sample or 0.0)
    return found
