"""What became of the requests of a load."""

from loadcurve.record import Count, Record


class Requests(Record):
    """What became of the requests: due = answered + failed + unanswered + never_sent, always.

    Another generator than the engine may count only those that have ended: for it these are the ones that are
    due and sent, and what it does not count is ``None``.
    """

    due: Count
    sent: Count
    answered: Count
    ok: Count | None
    failed: Count | None
    unanswered: Count | None
    never_sent: Count | None
    moved: Count | None = None
    """Of those that were sent: how many were sent once more, because the server had not looked at them."""
