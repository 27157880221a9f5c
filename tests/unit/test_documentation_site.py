"""The documents as they are laid out for the site, and the site's navigation."""

import re
import tomllib
from pathlib import Path

import pytest
from docs.generate import ROOT
from docs.generate.site import EXAMPLE, lay_out, without_links_to_other_files

from loadcurve.cli.publish import check_command
from loadcurve.result.publication import files_of, read_published

SITE = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "pages"
    lay_out(folder)
    return folder


def navigation(items):
    """The documents of a part of the navigation."""
    for item in items:
        (place,) = item.values()
        yield from [place] if isinstance(place, str) else navigation(place)


def test_each_document_has_its_place_in_the_navigation(pages):
    documents = sorted(str(path.relative_to(pages)) for path in pages.rglob("*.md"))
    assert sorted(navigation(SITE["nav"])) == documents


def test_each_link_of_the_site_leads_to_a_file_of_the_site(pages):
    for path in pages.rglob("*.md"):
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
            assert (path.parent / target).exists(), f"{path}: {target}"


def test_the_site_takes_nothing_from_other_hosts():
    assert SITE["theme"]["font"] is False
    assert not {"extra", "extra_javascript", "plugins"} & SITE.keys()
    assert [
        path for path in SITE["extra_css"] if re.search(r"url\(|@import", (ROOT / path).read_text())
    ] == []


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[a guide](guides/a.md#part)", "[a guide](guides/a.md#part)"),
        ("[Chromium](https://example.org/a)", "[Chromium](https://example.org/a)"),
        ("![a picture](missing.png)", "![a picture](missing.png)"),
        ("[the table](../python/table.toml)", "the table (`python/table.toml`)"),
        ("[table.toml](../python/table.toml#part)", "`python/table.toml`"),
    ],
)
def test_a_link_to_a_file_that_the_site_lacks_becomes_its_path(link, shown):
    document = Path("docs/tutorial.md")
    assert without_links_to_other_files(link, document, {Path("docs/guides/a.md")}) == shown


EXAMPLE_BYTES_MAX = 1_500_000


def test_the_example_of_published_results_passes_its_own_check_and_is_small():
    check_command(ROOT / EXAMPLE)
    files = [path for path in (ROOT / EXAMPLE).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < EXAMPLE_BYTES_MAX


def test_the_site_has_the_pages_of_the_example(pages):
    results = files_of(ROOT / EXAMPLE)
    assert results
    for file in results:
        assert (pages / EXAMPLE / file.place.replace(".json", ".html")).is_file()
    assert "Profiles side by side" in (pages / EXAMPLE / "index.html").read_text()
    assert "](../example-site)" in (pages / "docs" / "guides" / "publishing.md").read_text()


def test_the_example_is_of_one_machine_that_it_describes():
    machines = [read_published(ROOT / EXAMPLE, file.place).machine for file in files_of(ROOT / EXAMPLE)]
    assert len({one.fingerprint for one in machines}) == 1
    assert all(one.cpu_model and one.cpus and one.memory_bytes for one in machines)
