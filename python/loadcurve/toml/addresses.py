"""Addresses of machines (IP), as files give them."""

from typing import Annotated

from pydantic import AfterValidator, IPvAnyAddress

from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import without_repetition

SourceAddresses = Annotated[
    list[Annotated[IPvAnyAddress, Expected('an address of the client\'s machine, such as "10.0.0.5"')]],
    Expected('a list of addresses of the client\'s machine, such as ["10.0.0.5", "10.0.0.6"]'),
    AfterValidator(without_repetition),
]
"""Addresses of one machine, from which connections come in turn."""
