"""Install commands by platform."""

import pytest

from loadcurve.server.install import Packages, install_command, platform_names

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
    assert install_command(PACKAGES, platform_names(os_release)) == command


def test_a_server_of_no_distribution_has_one_command_everywhere():
    packages = Packages(everywhere="python -m pip install demo")
    assert install_command(packages, ["debian"]) == "python -m pip install demo"
