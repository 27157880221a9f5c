"""Write the generated files anew, modules before what imports these."""

from importlib import import_module

from docs.generate import ROOT

for module, function in (
    ("limits", "limits"),
    ("load_options", "load_options"),
    ("files", "generated_files"),
):
    for path, text in getattr(import_module(f"docs.generate.{module}"), function)().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
