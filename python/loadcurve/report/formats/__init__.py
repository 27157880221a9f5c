"""The report in other forms than the page: tables, workbook, pictures, Markdown and JSON."""
