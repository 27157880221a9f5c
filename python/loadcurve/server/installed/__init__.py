"""Servers that Loadcurve installs: packages of registries in a folder of their own, by version and digest."""
