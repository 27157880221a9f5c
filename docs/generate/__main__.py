"""Write the generated files anew."""

from docs.generate import ROOT
from docs.generate.files import generated_files

for path, text in generated_files().items():
    (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
    (ROOT / path).write_text(text, encoding="utf-8")
