"""Servers in containers: the engine, its images, and the processes of a container."""
