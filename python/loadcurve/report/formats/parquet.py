"""Tables as Parquet, with their types."""

import io

import polars


def parquet_bytes(table: polars.DataFrame) -> bytes:
    """Return a table as Parquet; a null is one, and a list stays a list."""
    file = io.BytesIO()
    table.write_parquet(file)
    return file.getvalue()
