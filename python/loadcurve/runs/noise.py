"""Measuring the rig's noise: an A/A study, one server under two names."""

from loadcurve.analysis.curves import curves
from loadcurve.analysis.noise import noise_of
from loadcurve.errors import NothingMeasured
from loadcurve.host.cpus import CpuDivision
from loadcurve.result.folder import read_run
from loadcurve.result.measures import MEASURES
from loadcurve.result.rig import Noise, NoiseSpread
from loadcurve.runs.display import Display
from loadcurve.runs.rig_cache import rig_of
from loadcurve.runs.running_servers import utc_now
from loadcurve.runs.study import RunOptions, StudyRun
from loadcurve.server.temporary import READ_BY_ALL_MODE, temporary_folder

NOISE_MEASURES = ("throughput", "p50", "p99")
CONNECTIONS = [10, 100]
TRIALS = 10
DURATION_S = 1.0
WARMUP_S = 0.2


def study_of_noise(server: str) -> str:
    """Return the A/A study of a server of the catalogue, as a file would hold it."""
    return f"""\
title = "The same server twice: {server}"

[content]
"1k.txt" = "1KiB"

[load]
model = "closed"
requests = ["/1k.txt"]
warmup = {WARMUP_S}
duration = {DURATION_S}

[sweep]
connections = {CONNECTIONS}

[trials]
count = {TRIALS}

[servers.first]
use = "{server}"

[servers.second]
use = "{server}"
"""


def measure_noise(cpus: CpuDivision, server: str, display: Display) -> Noise:
    """Run the A/A study of a server of the catalogue; takes about a minute.

    Raises:
        BadInput: the catalogue has no such server.
        NothingMeasured: the server is not installed, or too few of its trials can be used.

    """
    with temporary_folder("noise", READ_BY_ALL_MODE) as folder:
        study_file = folder / "noise.toml"
        study_file.write_text(study_of_noise(server), encoding="utf-8")
        study_run = StudyRun(study_file, RunOptions(out=folder / "run"), display)
        display.begins(study_run.studies, study_run.order)
        study_run.measure()
        run = read_run(study_run.folder)
    found, spreads = curves(run), {}
    for name in NOISE_MEASURES:
        spread = noise_of(run, found, MEASURES[name], "point").spread
        if spread is not None:
            spreads[name] = NoiseSpread(log_ratio_sd=spread.log_sd, degrees_of_freedom=spread.degrees)
    if not spreads:
        raise NothingMeasured(
            f"the noise cannot be determined: fewer than two pairs of trials of {server} are usable. "
            f"`loadcurve servers check {server}` shows whether it works."
        )
    return Noise(
        measured_at=utc_now(),
        rig=rig_of(cpus, run.run.host),
        host=run.run.host,
        server=server,
        server_version=run.run.servers["first"].version,
        trials=TRIALS,
        duration_s=DURATION_S,
        connections=CONNECTIONS,
        spreads=spreads,
    )
