"""What became of the requests of a load."""

from loadcurve.loads.values import Count, Record


class Requests(Record):
    """What became of the requests: due = answered + failed + unanswered + never_sent, always."""

    due: Count
    sent: Count
    answered: Count
    ok: Count
    failed: Count
    unanswered: Count
    never_sent: Count
    moved: Count | None = None
    """Of those that were sent: how many were sent once more, because the server had not looked at them."""
