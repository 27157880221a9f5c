"""Which paths the source of an own application names, by the ways in which frameworks declare routes."""

from pathlib import Path

import pytest

from loadcurve.runs import source_paths
from loadcurve.runs.source_paths import routes_of


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        # Each as the documentation of its framework has it.
        ('@app.route("/hello")\n@app.route("/user/<name>")', ["/hello"]),  # Flask
        ('@router.get("/items", tags=["a"])\n@app.post("/orders")', ["/items"]),  # FastAPI
        ("app.get('/about', (req, res) => {})\napp.get('/users/:id', f)", ["/about"]),  # Express
        ('http.HandleFunc("/bar", f)\nmux.HandleFunc("GET /path/", f)', ["/bar", "/path/"]),  # Go
        ('r.GET("/ping", f)', ["/ping"]),  # Gin
        ('path("articles/2003/", a),\npath("articles/<int:year>/", b)', ["/articles/2003/"]),  # Django
        ('  get "/products", to: "products#index"\n  get "/photos/:id"', ["/products"]),  # Rails
        ('@GetMapping("/greeting")\n@RequestMapping(value = "/home")', ["/greeting", "/home"]),  # Spring
        ('Router::new().route("/foo", get(f))', ["/foo"]),  # axum
        ('app.get("/")\nos.environ.get("HOME")\nf"{get}/x"', []),
    ],
)
def test_the_routes_of_each_framework_are_found_without_those_that_have_parameters(text, paths):
    assert list(routes_of(text)) == paths


def test_what_others_wrote_and_what_is_no_source_names_no_path(tmp_path: Path):
    for file in ["node_modules/a.js", ".venv/a.py", "tests/a.py", "readme.md", "large.js"]:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("app.get('/wrong', f)\n")
    (tmp_path / "large.js").write_text("app.get('/wrong', f)\n" + " " * source_paths.BYTES_MAX)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "app.py").write_text("@app.get('/products')\n@app.get('/products')\n")
    (tmp_path / "shop" / "binary.py").write_bytes(b"\xff\xfe@app.get('/more')")
    found = list(source_paths.source_paths(tmp_path))
    assert [(one.path, str(one.file)) for one in found] == [
        ("/products", "shop/app.py"),
        ("/more", "shop/binary.py"),
    ]
