"""What a server offers, whatever protocol it speaks: the seam between its life and what is asked of it."""

from collections.abc import Sequence
from typing import Protocol


class Service(Protocol):
    """What is reached under a server's address: whether it is there, and whether it is what it should be."""

    @property
    def url(self) -> str:
        """Where it is reached, with user and password where it asks for them."""
        ...

    @property
    def sign_of_life(self) -> str:
        """What a ready server does, in words that complete "it did not …"."""
        ...

    def refusal(self, timeout_s: float) -> str | None:
        """Ask once whether the server is ready; ``None`` if it is, otherwise what it answered, in words."""
        ...

    def verify(self, paths: Sequence[str]) -> None:
        """Compare what it does with what it should do; ``paths`` are those of a web server's load.

        Raises:
            BadInput: a path leads to no file of the content.
            ServerFailure: an answer is missing or wrong ("wrong_answer").

        """
        ...
