"""Targets as vegeta reads them as JSON (``-format=json``): an object on each line, its body in base64."""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import replace

from loadcurve.loads.targets.target import BadTarget, Target, require_url

WHAT = 'an object such as {"method": "POST", "url": "http://127.0.0.1:8080/path", "body": "e30="}'
_MEMBERS = frozenset({"method", "url", "body", "header", "weight"})
"""Those of vegeta, and the weight, which is ours."""


def targets_in(text: str) -> Iterator[Target | tuple[str, BadTarget]]:
    """Yield the targets of a text; where a line is none, its place and why."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f":{number}"
        try:
            yield _target(line, place)
        except BadTarget as bad:
            yield place, bad


def _target(line: str, place: str) -> Target:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise BadTarget(f"not JSON; expected {WHAT}") from None
    if not isinstance(found, dict) or not {"method", "url"} <= found.keys():
        raise BadTarget(f'no target with "method" and "url"; expected {WHAT}')
    if unknown := sorted(found.keys() - _MEMBERS):
        raise BadTarget(f'found "{unknown[0]}"; expected {", ".join(sorted(_MEMBERS))}')
    method, url, body, header = (found.get(name) for name in ("method", "url", "body", "header"))
    if not isinstance(method, str) or not isinstance(url, str):
        raise BadTarget(f'"method" or "url" is no text; expected {WHAT}')
    weight = found.get("weight")
    if weight is not None and (not isinstance(weight, int | float) or isinstance(weight, bool)):
        raise BadTarget('"weight" is no number; expected how often it is asked for among the others')
    target = Target(place, method, require_url(url), [*_fields(header)], _decoded(body))
    return replace(target, weight=weight)


def _fields(header: object) -> Iterator[tuple[str, str]]:
    for name, values in ({} if header is None else header).items() if isinstance(header, dict | None) else ():
        for value in values if isinstance(values, list) else [values]:
            if not isinstance(value, str):
                raise BadTarget(f'"header": {name} has no text; expected a list of texts')
            yield name, value
    if header is not None and not isinstance(header, dict):
        raise BadTarget('"header" is no object; expected names with lists of values')


def _decoded(body: object) -> bytes | None:
    if body is None:
        return None
    try:
        return base64.b64decode(body, validate=True) if isinstance(body, str) else _no_text()
    except binascii.Error:
        raise BadTarget('"body" is not base64; expected the bytes of the body in base64') from None


def _no_text() -> bytes:
    raise BadTarget('"body" is no text; expected the bytes of the body in base64')
