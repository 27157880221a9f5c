"""The figures as Vega-Lite specifications."""
