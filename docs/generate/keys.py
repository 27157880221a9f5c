"""The tables of the keys of a study and of a ``server.toml``."""

from collections.abc import Mapping
from functools import partial
from typing import get_args

from docs.generate.markdown import Tables, table
from docs.generate.models import key_table
from pydantic import BaseModel

from loadcurve.loads.entries import ExpectTable, RequestEntry
from loadcurve.loads.grpc import GrpcTable
from loadcurve.loads.http import ClosedLoadTable, OpenLoadTable, SessionsLoadTable
from loadcurve.loads.http_table import HttpLoadTable
from loadcurve.loads.models import LoadTables
from loadcurve.loads.table import LoadTable, sweep_keys
from loadcurve.loads.workload import MixTable, WorkloadTable
from loadcurve.loads.ycsb import DatabaseLoadTable
from loadcurve.machines.table import MachineTable
from loadcurve.result.measures import PUBLISHED_MEASURES
from loadcurve.server.description import Ready, ServerDescription, Stop, Unsupported, VersionSource
from loadcurve.server.install import Packages
from loadcurve.study.claims import (
    BestValueClaim,
    CheapestClaim,
    PairClaim,
    PeakClaim,
    RatioClaim,
    TrendClaim,
)
from loadcurve.study.container import ContainerTable
from loadcurve.study.limits import BurstTable, LimitsTable
from loadcurve.study.model import Study
from loadcurve.study.program import ProgramTable
from loadcurve.study.published import Published, PublishedFact, PublishedFigure, PublishedFile
from loadcurve.study.quick import QuickTable
from loadcurve.study.require import RequireTable
from loadcurve.study.tables import Content, Host, StudyServer, Trials, TrialWarmup


def _swept() -> str:
    lines = []
    for model in get_args(LoadTables):
        (name,) = get_args(model.model_fields["model"].annotation)
        lines.append(f"- `{name}`: {', '.join(f'`{key}`' for key in sweep_keys(model))}\n")
    return "".join(lines)


def _measures() -> str:
    rows = ((f"`{one.name}`", one.title, one.unit) for one in PUBLISHED_MEASURES.values())
    return table(("measure", "meaning", "unit"), rows)


_CLAIMS: Mapping[str, type[BaseModel]] = {
    "peak": PeakClaim,
    "ratio": RatioClaim,
    "pair": PairClaim,
    "trend": TrendClaim,
    "cheapest": CheapestClaim,
    "value": BestValueClaim,
}
_OF_ALL_CLAIMS = {"text", "over"}
_ALL, _WEB = LoadTable.model_fields, HttpLoadTable.model_fields

KEY_TABLES: Tables = {
    "study": partial(key_table, Study),
    "content": partial(key_table, Content),
    "load": partial(key_table, LoadTable, but={"model"}),
    "load-web": partial(key_table, HttpLoadTable, but=_ALL),
    "request": partial(key_table, RequestEntry),
    "expect": partial(key_table, ExpectTable),
    "load-grpc": partial(key_table, GrpcTable),
    "load-closed": partial(key_table, ClosedLoadTable, but=_WEB),
    "load-open": partial(key_table, OpenLoadTable, but=_WEB),
    "load-sessions": partial(key_table, SessionsLoadTable, but=_WEB),
    "load-ycsb": partial(key_table, DatabaseLoadTable, but=_ALL),
    "workload": partial(key_table, WorkloadTable),
    "mix": partial(key_table, MixTable),
    "swept": _swept,
    "trials": partial(key_table, Trials),
    "trial-warmup": partial(key_table, TrialWarmup),
    "quick": partial(key_table, QuickTable),
    "host": partial(key_table, Host),
    "machine": partial(key_table, MachineTable),
    "require": partial(key_table, RequireTable),
    "published": partial(key_table, Published),
    "published-file": partial(key_table, PublishedFile),
    "published-figure": partial(key_table, PublishedFigure),
    "published-fact": partial(key_table, PublishedFact),
    "measures": _measures,
    "claim": partial(key_table, PeakClaim, but=PeakClaim.model_fields.keys() - _OF_ALL_CLAIMS),
    **{
        f"claim-{kind}": partial(key_table, model, but={"kind", *_OF_ALL_CLAIMS})
        for kind, model in _CLAIMS.items()
    },
    "study-server": partial(
        key_table, StudyServer, but=ContainerTable.model_fields, defaults={"use": "the name"}
    ),
    "program": partial(key_table, ProgramTable),
    "container": partial(key_table, ContainerTable),
    "limits": partial(key_table, LimitsTable),
    "burst": partial(key_table, BurstTable),
    "server": partial(key_table, ServerDescription),
    "server-version": partial(key_table, VersionSource),
    "server-install": partial(key_table, Packages),
    "server-ready": partial(key_table, Ready),
    "server-stop": partial(key_table, Stop),
    "server-unsupported": partial(key_table, Unsupported),
}
