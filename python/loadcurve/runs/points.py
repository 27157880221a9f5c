"""The order of trials, which points a trial goes through, and which of them it repeats."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from loadcurve.loads.values import Point
from loadcurve.result.measures import PointKey, point_key
from loadcurve.result.records import FailureRecord, PlannedTrial, PointRecord
from loadcurve.result.which_count import ServerCpus, asks_for_another, counting, marked_drop


def trial_order(servers: Sequence[str], trials: int, seed: int) -> list[PlannedTrial]:
    """Return ``trials`` blocks, each with one trial of every server, in an order drawn anew for each block.

    A machine drifts: it warms up, and others use it. A block is short against such a drift, so servers are
    compared within blocks, and the drawn order keeps any server from always running first.
    Trials and blocks count from 0. Equal arguments give the same order.
    """
    generator = random.Random(seed)  # noqa: S311 -- an order of trials keeps no secret
    blocks = [generator.sample(list(servers), len(servers)) for _ in range(trials)]
    return [
        PlannedTrial(trial=block * len(servers) + place, block=block, server=server)
        for block, order in enumerate(blocks)
        for place, server in enumerate(order)
    ]


class PointChooser(Protocol):
    """Decides where a trial goes next, from what was measured."""

    def next_point(self, trial: PlannedTrial, last: PointRecord | FailureRecord | None) -> Point | None:
        """Return the point after that of ``last``, the trial's latest record, or ``None`` at its end.

        ``last`` is ``None`` before the trial's first point. It is asked once after each record, but not after
        a failure that ends the trial.
        """


@dataclass(frozen=True)
class SweptPoints:
    """Every point of the sweep, in the same order in every trial."""

    points: Sequence[Point]

    def next_point(self, trial: PlannedTrial, last: PointRecord | FailureRecord | None) -> Point | None:  # noqa: ARG002
        """Return the point after ``last`` in the order of the sweep."""
        place = 0 if last is None or last.point is None else self.points.index(last.point) + 1
        return self.points[place] if place < len(self.points) else None


class UntilDrop:
    """The points of another chooser, until the throughput of the trial has fallen markedly."""

    def __init__(self, points: PointChooser, share: float) -> None:
        """End each trial where its throughput is by ``share`` below the greatest so far."""
        self._points = points
        self._share = share
        self._measured: list[PointRecord] = []

    def next_point(self, trial: PlannedTrial, last: PointRecord | FailureRecord | None) -> Point | None:
        """Return the point after that of ``last``, or ``None`` where the curve ends there."""
        if last is None:
            self._measured = []
        if isinstance(last, PointRecord):
            self._measured.append(last)
            if marked_drop(self._measured, self._share) is not None:
                return None
        return self._points.next_point(trial, last)


class RepeatedPoints:
    """The points of another chooser, and again those at which the machine was disturbed.

    They come again when the trial has been through all of its points, in rounds: each point at most so often,
    and no more rounds where none of a round was any better. Where the next point depends on the figures of
    the last one, a point comes again at once.
    """

    def __init__(self, points: PointChooser, most: int, server_cpus: ServerCpus, *, at_once: bool) -> None:
        """Repeat each of ``points`` at most ``most`` times in a trial."""
        self._points = points
        self._server_cpus = server_cpus
        self._most = most
        self._at_once = at_once
        self._begin()

    def _begin(self) -> None:
        self._attempts: dict[PointKey, list[PointRecord]] = {}
        self._round: list[Point] | None = None
        """The points of the round that are still to come; ``None`` before the first round."""
        self._round_helped = True

    def next_point(self, trial: PlannedTrial, last: PointRecord | FailureRecord | None) -> Point | None:
        """Return the point after that of ``last``, or one to repeat."""
        if last is None:
            self._begin()
        if isinstance(last, PointRecord):
            self._attempts.setdefault(point_key(last.point), []).append(last)
            self._round_helped |= not asks_for_another(last)
        if self._at_once:
            return self._repeated_or_next(trial, last)
        if self._round is None:
            following = self._points.next_point(trial, last)
            if following is not None:
                return following
        return self._next_of_round()

    def _repeated_or_next(
        self, trial: PlannedTrial, last: PointRecord | FailureRecord | None
    ) -> Point | None:
        if not isinstance(last, PointRecord):
            return self._points.next_point(trial, last)
        attempts = self._attempts.pop(point_key(last.point))
        if self._is_to_come_again(attempts):
            self._attempts[point_key(last.point)] = attempts
            return last.point
        return self._points.next_point(trial, counting(attempts, self._server_cpus))

    def _next_of_round(self) -> Point | None:
        if not self._round:
            if not self._round_helped:
                return None
            again = filter(self._is_to_come_again, self._attempts.values())
            self._round, self._round_helped = [attempts[0].point for attempts in again], False
        return self._round.pop(0) if self._round else None

    def _is_to_come_again(self, attempts: Sequence[PointRecord]) -> bool:
        return len(attempts) <= self._most and all(map(asks_for_another, attempts))
