"""The options of ``loadcurve load`` that say nothing of the load itself, but how it is run."""

from pathlib import Path
from typing import Final, Literal

from loadcurve.cli.commands.row import Row

_GENERATOR, _DATABASES = "Generator", "Databases"

# fmt: off
RUNNING: Final = (
    Row("out", "--out", Path, help="Keep the result as a run in this new folder.", metavar="DIR", place=100),
    Row("html", "--html", Path, help="Write the report of this load to a file.", metavar="FILE", place=110),
    Row("watch", "--watch", bool, help="Serve a page that follows the load; its URL is on stderr.",
        place=120, default=False),
    Row("watch_address", "--watch-address", str, help="Where that page listens; default: a free port.",
        metavar="HOST:PORT", place=130),
    Row("seed", "--seed", int, help="Seed of all random choices, to repeat a load.", metavar="N",
        panel=_GENERATOR, place=10, default=0, minimum=0, is_of_engine=True),
    Row("cpus", "--cpus", str, help="CPUs to run the sending threads on, such as 1 or 2,3.", metavar="LIST",
        panel=_GENERATOR, place=20, default=""),
    Row("load_machines", "--from", str,
        help="Machines that share the load and begin together: here, or destinations of ssh.",
        metavar="HOST[,HOST…]", panel=_GENERATOR, place=30, default="", is_of_engine=True),
    Row("on_ray", "--on-ray", int, help="Nodes of a Ray cluster that share the load and begin together.",
        metavar="N", panel=_GENERATOR, place=40, default=0, minimum=0, shows_default=False,
        is_of_engine=True),
    Row("ray_address", "--ray-address", str,
        help="A running Ray cluster; without it RAY_ADDRESS, or one of this machine alone.",
        metavar="ADDRESS", panel=_GENERATOR, place=50, default=""),
    Row("io", "--io", Literal["auto", "uring", "epoll"],
        help="Kernel interface; auto takes the cheaper one. HTTP/3 has epoll alone.",
        panel=_GENERATOR, place=70, default="auto", work="http", is_of_engine=True),
    Row("waiting", "--waiting", Literal["auto", "sleep"],
        help="How threads wait for answers; auto polls where CPUs are to spare.", panel=_GENERATOR, place=80,
        default="auto", work="http", is_of_engine=True),
    Row("settings", "--set", list[str], help="A driver setting; repeatable.", metavar="NAME=VALUE",
        panel=_DATABASES, place=80, work="ycsb"),
    Row("password_file", "--password-file", Path, help="File with the password of the URL's user.",
        metavar="FILE", panel=_DATABASES, place=100, work="ycsb"),
    Row("password_env", "--password-env", str, help="Environment variable with that password.",
        metavar="VARIABLE", panel=_DATABASES, place=110, work="ycsb"),
    Row("drop", "--drop", bool, help="First remove the table, if Loadcurve created it.", panel=_DATABASES,
        place=120, default=False, work="ycsb"),
    Row("drop_table", "--drop-table", str,
        help="First remove this table, even if Loadcurve did not create it.", metavar="NAME",
        panel=_DATABASES, place=130, work="ycsb"),
)
