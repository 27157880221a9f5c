"""Servers under test: the catalogue, and the life of one server from its start until nothing is left."""
