"""Signatures that name every option, for `help()` and for editors that look at the running function."""

import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar, get_type_hints

Asked = ParamSpec("Asked")
Returned = TypeVar("Returned")


def with_options(options: type) -> Callable[[Callable[Asked, Returned]], Callable[Asked, Returned]]:
    """Return a decorator that gives a function with ``**options`` the signature with each of them by name.

    ``options`` is the typed dictionary of the options. The value of one that is not given is the command's.
    """

    def signed(function: Callable[Asked, Returned]) -> Callable[Asked, Returned]:
        own = inspect.signature(function)
        given = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
            for name, hint in get_type_hints(options).items()
        ]
        function.__signature__ = own.replace(parameters=[*given, *named])  # type: ignore[attr-defined]
        return function

    return signed
