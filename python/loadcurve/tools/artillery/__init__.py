"""The load generator artillery."""
