"""What a load shows while it runs, to other systems: as text for Prometheus, and by OTLP."""
