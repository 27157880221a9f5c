"""A cipher that the processor does not help with, where much is encrypted."""

import pytest

from support.explained_run import Data, Planted, Setup, found

CHACHA = "TLS13_CHACHA20_POLY1305_SHA256"
AES = "TLS13_AES_128_GCM_SHA256"
WITH_AES, WITHOUT_AES = Setup(host={"cpu_has_aes": True}), Setup(host={"cpu_has_aes": False})


def agreeing_on(suite: str, megabytes_per_s: float = 30.0) -> Planted:
    def plant(record: Data, *_: float) -> None:
        load = record["load"]
        agreed = {"version": "1.3", "suite": suite, "group": "x25519", "resumed": False, "count": 5}
        load["tls"] = {
            "handshakes": {"full": 5, "resumed": 0},
            "agreed": [agreed],
            "protocol": None,
            "certificate": None,
        }
        load["bytes"] |= {"sent": 0, "received": round(megabytes_per_s * 1e6 * load["duration_s"])}

    return plant


@pytest.mark.parametrize(
    ("suite", "setup", "preferred"), [(CHACHA, WITH_AES, "AES-GCM"), (AES, WITHOUT_AES, "ChaCha20")]
)
def test_a_cipher_without_help_is_a_finding_where_the_other_one_has_it(
    suite: str, setup: Setup, preferred: str
):
    [finding] = found(agreeing_on(suite), setup).values()
    assert (finding.code, finding.certainty) == ("slow_cipher", "likely")
    assert suite in finding.seen
    assert f"Prefer {preferred}" in finding.advice


@pytest.mark.parametrize(("suite", "setup"), [(AES, WITH_AES), (CHACHA, WITHOUT_AES), (CHACHA, Setup())])
def test_the_cipher_that_suits_the_processor_is_none_nor_is_one_on_an_unknown_processor(
    suite: str, setup: Setup
):
    assert found(agreeing_on(suite), setup) == {}


def test_where_little_is_encrypted_the_cipher_does_not_matter():
    assert found(agreeing_on(CHACHA, megabytes_per_s=19.0), WITH_AES) == {}
