"""Characters of a text that are not shown, but steer what shows it: a terminal, or the order of a line."""

from collections.abc import Mapping
from typing import Final

_CONTROL = (*range(0x20), *range(0x7F, 0xA0))
"""What begins an escape sequence, rings a bell or moves the cursor."""
_DIRECTION = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""The bidirectional formatting characters of Unicode (UAX 9): behind one a line reads in another order."""

WITHOUT_STEERING: Final[Mapping[int, None]] = {
    code: None for code in (*_CONTROL, *_DIRECTION) if chr(code) not in "\t\n"
}
"""For ``str.translate``."""
