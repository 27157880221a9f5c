"""Tables as CSV that no spreadsheet takes for formulas, and as Parquet with their types."""

import io

import polars

RUN_BY_SPREADSHEETS = r"^['=+\-@\t\r\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""The apostrophe, and what makes a spreadsheet read a text as a formula: OWASP, "CSV Injection".

The last four are the wide forms of ``=``, ``+``, ``-`` and ``@``.
"""


def csv_bytes(table: polars.DataFrame) -> bytes:
    """Return a table as CSV in UTF-8: a heading, a point as decimal mark, nothing where a value is null.

    A text that a spreadsheet would run as a formula has an apostrophe before it, and so has one that begins
    with an apostrophe itself: whoever takes one off each gets the texts back. Numbers are as they are. The
    items of a list are with blanks between them.
    """
    texts = [
        polars.col(name).list.join(" ") if isinstance(kind, polars.List) else polars.col(name)
        for name, kind in table.schema.items()
        if isinstance(kind, polars.List | polars.String)
    ]
    guarded = table.with_columns(map(_guarded, texts))
    headings = polars.DataFrame({"name": table.columns}).select(_guarded(polars.col("name")))["name"]
    return guarded.rename(dict(zip(table.columns, headings, strict=True))).write_csv().encode()


def _guarded(column: polars.Expr) -> polars.Expr:
    """Return texts with an apostrophe before those that a spreadsheet would run."""
    apostrophe = (
        polars.when(column.str.contains(RUN_BY_SPREADSHEETS)).then(polars.lit("'")).otherwise(polars.lit(""))
    )
    return polars.concat_str(apostrophe, column).alias(column.meta.output_name())


def parquet_bytes(table: polars.DataFrame) -> bytes:
    """Return a table as Parquet; a null is one, and a list stays a list."""
    file = io.BytesIO()
    table.write_parquet(file)
    return file.getvalue()
