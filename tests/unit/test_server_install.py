"""Install commands by platform."""

import pytest

from loadcurve.report.doctor import Programs, programs_lines
from loadcurve.server.catalog import load_catalog
from loadcurve.server.install import Packages, install_command, platform_names
from support.terminal import printed

PACKAGES = Packages(debian=["apache2-bin"], fedora=["httpd"])


@pytest.mark.parametrize(
    ("os_release", "command"),
    [
        ({"ID": "debian"}, "apt-get install apache2-bin"),
        ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "apt-get install apache2-bin"),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "dnf install httpd"),
        ({"ID": "arch"}, None),
        ({"ID": "unheard-of"}, None),
        ({}, None),
    ],
)
def test_the_platform_or_what_it_resembles_decides(os_release, command):
    assert install_command(platform_names(os_release), PACKAGES) == command


def test_a_server_of_no_distribution_has_one_command_everywhere():
    packages = Packages(everywhere="python -m pip install demo")
    assert install_command(["debian"], packages) == "python -m pip install demo"


def test_several_servers_have_one_command_that_names_each_package_once():
    others = Packages(debian=["apache2-bin", "nginx"], arch=["nginx"])
    assert install_command(["debian"], PACKAGES, others) == "apt-get install apache2-bin nginx"
    assert install_command(["arch"], PACKAGES, others) == "pacman -S nginx"


@pytest.mark.parametrize("proxy", ["caddy", "nginx"])
def test_a_proxy_in_front_of_what_no_distribution_packages_is_installed_with_it(proxy):
    packages = load_catalog()[f"{proxy}-node-ws"].description.install
    assert install_command(["debian"], packages) == f"loadcurve servers install {proxy} node-ws"


def test_each_command_that_installs_says_what_it_is_for():
    absent = {"mod-a": "apt-get install a", "mod-b": "apt-get install a", "c": None}
    lines = printed(programs_lines(Programs("servers", "they are measured", [], absent))).splitlines()
    assert [line.strip() for line in lines if "$" in line] == ["$ apt-get install a  # mod-a, mod-b"]
