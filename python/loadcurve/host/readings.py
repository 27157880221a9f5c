"""Reading the small files in which the kernel describes the machine; what is not there is ``None``."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Readings:
    """The files below a root, which is ``/`` except in tests."""

    root: Path = Path("/")

    def text(self, path: str) -> str | None:
        """Return a file's text without the white space around it; ``None`` where there is none."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").strip() or None
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """Return the whole number in a file."""
        text = self.text(path)
        return int(text) if text is not None and text.isdecimal() else None

    def numbers(self, path: str) -> list[int] | None:
        """Return the whole numbers in a file of nothing else."""
        words = (self.text(path) or "").split()
        return [int(word) for word in words] if words and all(word.isdecimal() for word in words) else None

    def field(self, path: str, name: str) -> str | None:
        """Return the first value of ``name`` in a file of ``name : value`` lines."""
        for line in (self.text(path) or "").splitlines():
            key, separator, value = line.partition(":")
            if separator and key.strip() == name:
                return value.strip() or None
        return None

    def matching(self, pattern: str) -> list[str]:
        """Return the paths that match a pattern, in order."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.glob(pattern))
