"""The optional servers that a run left out, and how to add them."""

from loadcurve.record import Many, Record


class LeftOut(Record):
    """The optional servers of a study that were not installed."""

    servers: Many[str]
    installable: Many[str]
    """Those that the command installs."""
    install: str | None
    """One command for all of these; ``None`` where no package of this system is known."""

    @property
    def names(self) -> str:
        """Which servers were left out, and why."""
        return f"left out, not installed: {', '.join(self.servers)}"

    @property
    def hint(self) -> str | None:
        """What the command is for; ``None`` where there is none."""
        if self.install is None:
            return None
        named = "them" if len(self.servers) > 1 else "it"
        return f"to add {named if self.installable == self.servers else ', '.join(self.installable)}"

    @property
    def words(self) -> str:
        """All of it in one line."""
        return self.names if self.hint is None else f"{self.names}; {self.hint}: {self.install}"
