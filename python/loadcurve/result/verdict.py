"""Whether numbers may be used, and what must be known to read them: codes of a table, with evidence."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from loadcurve.record import Many, Record
from loadcurve.result.classes import CAVEATS, NOTES, REASONS, VerdictCode


class Reason(Record):
    """Why something is as it is: a stable code, and a sentence with evidence and advice.

    A record of another version may have a code that this one does not know; it is read and shown like others.
    """

    code: str
    text: str


class _OfTable(Reason):
    codes: ClassVar[Mapping[str, VerdictCode]]

    @classmethod
    def of(cls, code: str, text: str) -> Self:
        """Return one with a code of the table; raises ``KeyError`` for any other."""
        return cls(code=cls.codes[code].code, text=text)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> dict[str, Any]:
        """Return the schema, which names the codes that this version writes."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        schema["properties"]["code"]["enum"] = list(cls.codes)
        return schema


class VerdictReason(_OfTable):
    """Why a verdict is not ``valid``."""

    codes = REASONS


class VerdictNote(_OfTable):
    """What a reader should know, although it is no reason for doubt."""

    codes = NOTES


class Caveat(_OfTable):
    """What must be known of a run, or of what was seen of a server, to read the figures."""

    codes = CAVEATS


class Verdict(Record):
    """Whether the numbers may be used."""

    status: Literal["valid", "suspect", "invalid"]
    reasons: Many[VerdictReason]
    notes: Many[VerdictNote] = Field([])
    """Records may lack them."""

    def with_reason(self, code: str, text: str, status: Literal["suspect", "invalid"]) -> Self:
        """Return the verdict with one more reason, for which it is ``status`` at least.

        Raises ``KeyError`` for a code that is not in the table, ``ValueError`` for one that makes no result
        ``status``.
        """
        if getattr(REASONS[code], status) is None:
            raise ValueError(f"{code} makes no result {status}")
        worse = "invalid" if "invalid" in {self.status, status} else status
        reasons = [*self.reasons, VerdictReason.of(code, text)]
        return self.model_copy(update={"status": worse, "reasons": reasons})
