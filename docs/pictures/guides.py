"""Make a picture for each guide: ``python -m docs.pictures.guides FOLDER``, which takes six minutes.

Each is a part of a real report, of runs that this makes in the folder. It needs nginx, PostgreSQL, wrk, ab
and Chromium.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docs.pictures.make import HERE, system_browser
from playwright.sync_api import Browser, FloatRect

from loadcurve.exit_codes import EXIT_DONE, EXIT_INVALID
from loadcurve.result.run_files import REPORT_FILE
from loadcurve.server.found import NATIVE_FOLDER

GUIDES: Final = HERE.parent / "guides"
BYTES_MAX: Final = 60 * 1024
WIDTH: Final = 760
"""Of a window, in CSS pixels."""
HEIGHTS: Final = range(460, 180, -40)
"""Of a picture, in CSS pixels: the first that fits into its bytes."""
SERVER: Final = NATIVE_FOLDER / "loadcurve-server"
DRAWN_MS: Final = 500
ALONE: Final = """name => {
  const shown = document.getElementById(name).closest("section");
  for (const one of document.querySelectorAll("section, header, nav, footer"))
    if (one !== shown && !one.contains(shown) && !shown.contains(one)) one.style.display = "none";
}"""
"""Hides what is beside a section of a page."""
COMMAND: Final = Path(sys.executable).with_name("loadcurve")
SERVED: Final = '"1k.txt" = "1KiB"\n"page.html" = "16KiB"'
LOAD: Final = 'model = "closed"\nrequests = ["/1k.txt"]\nwarmup = "0.3s"\nduration = "1s"'


EVENTS: Final = """\
// Ten events, 20 ms apart.
require('http').createServer((request, answer) => {
  answer.writeHead(200, {'Content-Type': 'text/event-stream'});
  let sent = 0;
  const timer = setInterval(() => {
    answer.write(`data: ${++sent}\\n\\n`);
    if (sent === 10) { clearInterval(timer); answer.end(); }
  }, 20);
}).listen(Number(process.argv[2]), '127.0.0.1');
"""
EVENT_STUDY: Final = """\
title = "A stream of events, and a proxy that buffers it"
[load]
model = "open"
connections = 50
requests = ["/"]
messages = "events"
events_expected = 10
warmup = "0.5s"
duration = "3s"
[sweep]
rate = [20, 40, 80]
[trials]
count = 3
[servers.direct]
version = "1"
start = ["node", "events.js", "{port}"]
[servers.buffered]
version = "1"
[[servers.buffered.programs]]
name = "app"
start = ["node", "events.js", "{port}"]
[[servers.buffered.programs]]
name = "proxy"
start = ["sh", "-c", "sed 's|PRIVATE|{private}|g; s|LISTEN|{port}|; s|APP|{app.port}|' buffering.conf \
> {private}/nginx.conf && exec nginx -c {private}/nginx.conf"]
"""
BUFFERING: Final = """\
daemon off; pid PRIVATE/nginx.pid; error_log stderr; events {}
http {
  access_log off; proxy_temp_path PRIVATE/proxy; client_body_temp_path PRIVATE/body;
  fastcgi_temp_path PRIVATE/f; uwsgi_temp_path PRIVATE/u; scgi_temp_path PRIVATE/s;
  server { listen 127.0.0.1:LISTEN; location / { proxy_pass http://127.0.0.1:APP; proxy_buffering on; } }
}
"""


def _web(load: str, sweep: str, servers: str, more: str = "") -> str:
    return (
        f'title = "Web servers"\nquestion = "Which answers most, and up to which load?"\n{more}\n'
        f"[content]\n{SERVED}\n[load]\n{load}\n[sweep]\n{sweep}\n[trials]\ncount = 3\n{servers}\n"
    )


STUDIES: Final = {
    "web": _web(
        LOAD,
        "connections = [1, 4, 16, 64]",
        "[servers.limit]\n[servers.nginx]\n[servers.persistent]",
        'limits = "p99 < 2ms"',
    ),
    "after": _web(
        LOAD, "connections = [1, 4, 16, 64]", "[servers.limit]\n[servers.nginx]\naccess_log = true"
    ),
    "mix": _web(
        'model = "open"\nconnections = 20\nwarmup = "0.3s"\nduration = "2s"\nrequests = [{ path = "/1k.txt", '
        'weight = 3, name = "item" }, { path = "/page.html", weight = 1, name = "page" }]',
        "rate = [500, 1000, 2000, 4000]",
        "[servers.nginx]",
    ),
    "stall": _web(
        LOAD.replace("1s", "3s"),
        "connections = [4]",
        '[servers.limit]\n[servers.stalls]\nuse = "limit"\nstall_every = "1s"\nstall_for = "100ms"',
    ),
    "limited": _web(
        LOAD,
        "connections = [1, 4, 16]",
        '[servers.nginx]\n[servers.half]\nuse = "nginx"\nlimits = { cpus = 0.5 }',
    ),
    "tools": _web(
        LOAD,
        "connections = [4, 16]",
        '[servers.nginx]\n[servers.wrk]\nuse = "nginx"\n[servers.wrk.load]\ngenerator = "wrk"',
    ),
    "events": EVENT_STUDY,
    "settings": _web(
        LOAD,
        "connections = [16]\nkeepalive_requests = [1, 10, 1000]\naccess_log = [false, true]",
        "[servers.nginx]",
    ),
    "database": 'title = "PostgreSQL"\n[load]\nmodel = "ycsb"\nworkload = "a"\nrecords = 2000\n'
    'warmup = "0.3s"\nduration = "1s"\n[sweep]\nthreads = [1, 4, 16]\n[trials]\n'
    "count = 3\n[servers.postgresql]\n",
}


@dataclass(frozen=True, slots=True)
class Picture:
    """Which part of which report a guide shows."""

    page: str
    """The run, or another page below the folder."""
    part: str
    """The name of the section's heading."""


PICTURES: Final = {
    "capacity": Picture("web", "shapes"),
    "ci": Picture("after", "findings"),
    "clusters": Picture("web", "resources"),
    "commands": Picture("mix", "trials"),
    "databases": Picture("database", "operations"),
    "generators": Picture("tools", "generators"),
    "hidden": Picture("stall", "distribution"),
    "history": Picture("history/history.html", ""),
    "imports": Picture("imported", "answer"),
    "limits": Picture("limited", "resources"),
    "loads": Picture("mix", "operations"),
    "messages": Picture("events", "messages"),
    "machines": Picture("limited", "both"),
    "many": Picture("mix", "latency"),
    "publishing": Picture("web", "numbers"),
    "python": Picture("mix", "both"),
    "reading": Picture("stall", "findings"),
    "recipes": Picture("settings", "settings"),
    "results": Picture("web", "answer"),
    "servers": Picture("settings", "servers"),
    "studies": Picture("web", "ranking"),
    "troubleshooting": Picture("limited", "findings"),
    "versions": Picture("after/comparison.html", ""),
    "which-tool": Picture("web", "both"),
}
"""Of each guide."""


def make_runs(folder: Path) -> None:
    """Run the studies that have not been run there, and make the pages that compare, import and list."""
    (folder / "events.js").write_text(EVENTS, encoding="utf-8")
    (folder / "buffering.conf").write_text(BUFFERING, encoding="utf-8")
    for name, text in STUDIES.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
        if not (folder / name).exists():
            _command(folder, "run", f"{name}.toml", "--out", name)
    _command(folder, "report", "web", "after")
    for name in ("web", "after"):
        _command(folder, "history", "add", name, "--to", "history", "--commit", name)
    _command(folder, "history", "show", "--to", "history", "--html")
    if not (folder / "imported").exists():
        (folder / "ab.txt").write_text(_of_ab(folder), encoding="utf-8")
        _command(folder, "import", "ab.txt", "--out", "imported")


def _command(folder: Path, *words: str) -> None:
    """Run a command; that some points of a run are invalid hinders no picture."""
    status = subprocess.run([COMMAND, *words], cwd=folder, check=False).returncode
    if status not in {EXIT_DONE, EXIT_INVALID}:
        sys.exit(f"{words[0]} {words[1]} ended with status {status}")


def _of_ab(folder: Path) -> str:
    """Return what ab prints of a load on this project's own server."""
    words = [str(SERVER), "limit", "--listen", "127.0.0.1:0", "--root", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        address = (server.stdout.readline() if server.stdout else "").split()[-1]
        url = f"http://{address}/web.toml"
        try:
            load = [shutil.which("ab") or "ab", "-k", "-n", "20000", "-c", "8", url]
            return subprocess.run(load, check=True, capture_output=True, text=True).stdout
        finally:
            server.terminate()


def picture_of(browser: Browser, page: Path, part: str) -> bytes:
    """Return the beginning of a part of a report, as light PNG of at most :data:`BYTES_MAX`."""
    opened = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
    opened.goto(page.resolve().as_uri(), wait_until="networkidle")
    if part:
        opened.evaluate(ALONE, part)
    place = opened.locator(f"section:has(> #{part})" if part else "main, body").first
    place.scroll_into_view_if_needed()
    # Charts are drawn when they come into sight.
    opened.wait_for_timeout(DRAWN_MS)
    found = place.bounding_box()
    if found is None:
        sys.exit(f"{page} shows no {part}")
    top = found["y"] + opened.evaluate("window.scrollY")
    for height in HEIGHTS:
        clip = FloatRect(x=0, y=top, width=WIDTH, height=min(height, found["height"]))
        picture = opened.screenshot(full_page=True, clip=clip)
        if len(picture) <= BYTES_MAX:
            break
    opened.close()
    return picture


def main() -> None:
    """Make all pictures."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    # Pictures of a busy machine would show reasons for doubt in place of figures.
    os.environ.setdefault("LOADCURVE_OTHER_PROGRAMS", "note")
    make_runs(folder)
    with system_browser() as browser:
        for guide, one in PICTURES.items():
            page = folder / one.page
            page = page / REPORT_FILE if page.suffix != ".html" else page
            (HERE / f"guide-{guide}.png").write_bytes(picture_of(browser, page, one.part))


if __name__ == "__main__":
    main()
