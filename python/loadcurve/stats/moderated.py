"""Moderated variances: where trials are few, a spread borrows from those of the other servers.

Two trials leave a spread with one degree of freedom, and Student's t then wants 12.7 standard errors.
Smyth's empirical Bayes takes the variance (d0 s0² + d s²) / (d0 + d) with d0 + d degrees of freedom, where
the server's own is s² with d of them and what the others say is s0², worth d0.

Smyth finds d0 in the variances of thousands of genes. A dozen of one to three degrees of freedom say next to
nothing of it, and servers may well be unlike. So d0 is half of the degrees of freedom that the others have,
as many as are missing to a few, and less the more the own variance contradicts theirs, as in the robust
version. docs/methodology/statistics.md has what comes of it, ``python -m benches.few_trials`` the simulation.

Source: G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in
microarray experiments", Statistical Applications in Genetics and Molecular Biology 3 (2004); B. Phipson et
al., "Robust hyperparameter estimation protects against hypervariable genes and improves power to detect
differential expression", Annals of Applied Statistics 10 (2016).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WORTH = 0.5
"""What a degree of freedom of the others counts: they need not be as steady as the server itself."""


@dataclass(frozen=True, slots=True)
class Borrowing:
    """How far a variance borrows."""

    degrees_max: float
    """The most degrees of freedom in all; a variance that has them itself borrows nothing."""
    doubt: float
    """Below this p-value of the F test of own variance against the others' borrowing goes down with it."""


FOR_RATIOS = Borrowing(degrees_max=4, doubt=0.1)
"""Two to four trials. The variance of a ratio is that of two servers: pairs are less unlike than servers."""
FOR_SERVERS = Borrowing(degrees_max=2, doubt=1.0)
"""Two trials. One server may be much less steady than all others, and its interval must cover even so."""


@dataclass(frozen=True, slots=True)
class Variances:
    """Estimates of variances, with the degrees of freedom of each; 0 means there is no estimate."""

    values: Array
    degrees: Array


def moderated(own: Variances, others: Variances, how: Borrowing) -> Variances:
    """Return the variances of ``own``, moderated by ``others`` of the same shape, which are independent."""
    from scipy.special import fdtr, fdtrc  # noqa: PLC0415 - scipy must not slow the start of the command

    d, d_others = own.degrees, others.degrees
    can_borrow = (d > 0) & (d_others > 0) & (own.values > 0) & (others.values > 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        quotient = own.values / others.values
        p_value = 2 * np.minimum(fdtr(d, d_others, quotient), fdtrc(d, d_others, quotient))
        most = np.minimum(WORTH * d_others, np.maximum(how.degrees_max - d, 0))
        borrowed = np.where(can_borrow, most * np.minimum(1, p_value / how.doubt), 0.0)
        values = (borrowed * others.values + d * own.values) / (borrowed + d)
    return Variances(np.where(borrowed > 0, values, own.values), d + borrowed)


@dataclass(frozen=True, slots=True)
class BlockSpread:
    """How far the servers of a ranking spread over the blocks that have all of them: sums of squares.

    ``between`` is that of the servers within blocks, free of what a block has in common, and ``of_blocks``
    that of the blocks' means. Together they are the squares of each server around its own mean.
    """

    servers: int
    blocks: NDArray[np.bool_]
    """Which of the blocks have all servers."""
    between: float
    of_blocks: float

    @classmethod
    def of(cls, pairs: Array, levels: Array, servers: int) -> "BlockSpread":
        """Return it from the log ratios of all pairs, a row for each, and the blocks' mean logarithms.

        The squares of all pairs' deviations add up to the number of servers times those within blocks.
        """
        blocks = np.isfinite(pairs).all(axis=0) & np.isfinite(levels)
        between = _squares(pairs[:, blocks]).sum() / servers
        return cls(servers, blocks, float(between), float(servers * _squares(levels[blocks])))

    def beside(self, ratios: Array, shares: Array, own_degrees: Array) -> Variances:
        """Return what all that is not in a ratio says of its variance.

        A row of ``ratios`` has a log ratio for each block, which weighs servers such that the squares of the
        weights add up to its ``share``: 2 for a pair. What remains of the servers' contrasts has d - n + 1 of
        their d degrees of freedom, for n blocks. Two trials take the blocks' means along, which a drift makes
        too large and never too small: of two servers nothing else is left.
        """
        blocks = int(self.blocks.sum())
        degrees = np.full(len(ratios), float((self.servers - 2) * (blocks - 1)))
        squares = self.between - _squares(ratios[:, self.blocks]) / shares
        degrees = np.where(own_degrees == 1, degrees + blocks - 1, degrees)
        squares = np.where(own_degrees == 1, squares + self.of_blocks, squares)
        degrees = np.maximum(degrees, 0)
        values = shares * np.maximum(squares, 0) / np.maximum(degrees, 1)
        return Variances(values, np.where(np.isfinite(values), degrees, 0.0))


def usual_degrees(trials: int, servers: int) -> float:
    """Return the degrees of freedom of a pair's ratio where ``servers`` that are alike are compared."""
    own = trials - 1
    of_others = (servers - 2) * own + (own if own == 1 else 0)
    return own + min(WORTH * of_others, max(FOR_RATIOS.degrees_max - own, 0))


def _squares(rows: Array) -> Array:
    """Return the sum of squares of each row around its mean; 0 of none."""
    if not rows.shape[-1]:
        return np.zeros(rows.shape[:-1])
    return np.asarray(((rows - rows.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1))
