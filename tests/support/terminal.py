"""What is printed, as a terminal without colours shows it."""

import io
from typing import Any

from rich.console import Console


def printed(*renderables: Any, width: int = 80) -> str:
    """What rich prints of these on a terminal of this width; nothing is wider than it."""
    output = io.StringIO()
    Console(file=output, width=width).print(*renderables)
    text = output.getvalue()
    assert max(map(len, text.splitlines()), default=0) <= width
    return text
