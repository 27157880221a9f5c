"""The noise of a rig that does not exist."""

from loadcurve.result.rig import Noise, NoiseSpread, Rig

RIG = Rig(
    cpu_model="a processor", kernel="6.0", loadcurve_version="0", server_cpus=(0,), load_cpus=(1,), io="uring"
)
MEASURED = Noise(
    measured_at="2026-01-01T00:00:00Z",
    rig=RIG,
    host={},
    server="limit",
    server_version="0.1.0",
    trials=10,
    duration_s=1.0,
    connections=[10, 100],
    spreads={"throughput": NoiseSpread(log_ratio_sd=0.02, degrees_of_freedom=9)},
)
