"""The order of the trials."""

import random
from collections.abc import Sequence

from loadcurve.result.records import PlannedTrial


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
