"""Logs of HdrHistograms, which many tools write."""
