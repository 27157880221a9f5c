"""The plans of a study's loads, on web servers and on databases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from loadcurve.loads.http import HttpLoad
from loadcurve.loads.plan import DatabasePlan, HttpPlan
from loadcurve.loads.values import SettingValue
from loadcurve.loads.workload import in_words
from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.protocol import database_protocol_of_url
from loadcurve.redaction import without_password
from loadcurve.result.records import ContentRecord
from loadcurve.server.answers import content_name
from loadcurve.server.transport import CLEAR_TEXT, Transport


def plan_at_point(
    load: HttpLoad,
    address: str,
    content: Mapping[str, ContentRecord],
    cpus: Sequence[int],
    seed: int,
    *,
    authority: str | None = None,
    transport: Transport = CLEAR_TEXT,
) -> HttpPlan:
    """Return the plan of a study's load against a server that serves ``content``.

    The lengths of the answers to paths of the content are checked during the load, except those to a long
    list, to another method than GET, to requests with headers, and where the study verifies something else
    than the content. ``Host`` names the ``authority``, or else the address, and its host is what a
    certificate must be for. Without a number of threads in the study there is one for each CPU of the load,
    as far as there are connections for them; with subscribers there is one. ``seed`` repeats what is drawn at
    random.
    """
    served = {one.path: content.get(content_name(one.path)) for one in load.asked if one.is_of_content}
    return HttpPlan(
        load=load,
        address=address,
        authority=authority or address,
        scheme=transport.scheme,
        host=urlsplit(f"//{authority or address}").hostname or "",
        verify=transport.tls.verify,
        other_addresses=transport.other_addresses,
        body_bytes={path: record.bytes for path, record in served.items() if record is not None},
        threads=load.threads or (1 if load.subscribers else min(len(cpus), load.connections_at_once)),
        cpus=tuple(cpus),
        seed=seed,
    )


@dataclass(frozen=True)
class DatabasePlans:
    """Makes the plans of a study's loads on one database."""

    url: str
    settings: Mapping[str, SettingValue]
    cpus: Sequence[int]

    def run_phase(self, load: DatabaseLoad, seed: int) -> DatabasePlan:
        """Return the plan of the operations of ``load``; ``seed`` repeats what is drawn at random."""
        return self._plan(load.asking(), seed)

    def load_phase(self, load: DatabaseLoad, seed: int) -> DatabasePlan:
        """Return the plan by which the records of ``load`` are inserted."""
        return self._plan(load.loading(), seed)

    def _plan(self, load: DatabaseLoad, seed: int) -> DatabasePlan:
        return DatabasePlan(
            load=load,
            url=self.url,
            settings={name: in_words(value) for name, value in self.settings.items()},
            address=without_password(self.url),
            protocol=database_protocol_of_url(self.url),
            threads=load.generator_threads or min(max(1, len(self.cpus)), load.threads),
            cpus=tuple(self.cpus),
            seed=seed,
        )
