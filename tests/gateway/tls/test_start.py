"""Certificates, ports and settings with which a gateway serves TLS, and invalid ones."""

import asyncio
import socket
from pathlib import Path

import pytest

from gateway import settings
from gateway.service import Gateway
from gateway.settings import Settings, SettingsError
from tests.gateway.tls_customers import (
    handshake_threads,
    make_certificate,
    tls_bed,
)


async def refusal(files, **settings):
    """Return the one line with which a gateway does not start."""
    given = {
        "port": 0,
        "admin_port": 0,
        "tls_port": 0,
        "tls_certificate": files.server,
        "tls_key": files.key,
    } | settings
    made = []

    async def start():
        made.append(Gateway(Settings(**given), asyncio.get_running_loop()))
        await made[0].start()

    try:
        with pytest.raises(SettingsError, match=r"\A[^\n]+\Z") as caught:
            await start()
    finally:
        for gateway in made:
            await gateway.drain()
    return str(caught.value)


async def test_files_that_cannot_be_used_name_the_setting(files, tmp_path):
    other = make_certificate(tmp_path / "other")
    rubbish = tmp_path / "rubbish"
    rubbish.write_text("rubbish")
    encrypted = tmp_path / "encrypted"
    encrypted.write_bytes(_encrypted(files.key))
    certificate, key = "DOORBUSTER_GATEWAY_TLS_CERTIFICATE: ", "DOORBUSTER_GATEWAY_TLS_KEY: "

    for given, words in (
        ({"tls_certificate": tmp_path / "no"}, (certificate, "No such file")),
        ({"tls_key": tmp_path / "no"}, (key, "No such file")),
        ({"tls_key": tmp_path}, (key, "directory")),
        ({"tls_certificate": rubbish}, (certificate, "is not a certificate in PEM form")),
        ({"tls_key": rubbish}, (key, "is not a usable, unencrypted private key")),
        ({"tls_key": encrypted}, (key, "is not a usable, unencrypted private key")),
        ({"tls_key": other.key}, (key, "is not the key of the certificate")),
        ({"tls_certificate": files.key}, (certificate, "is not a certificate in PEM form")),
    ):
        said = await refusal(files, **given)
        assert all(word in said for word in words), said


def _encrypted(key: Path) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return serialization.load_pem_private_key(key.read_bytes(), None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )


async def test_a_port_that_is_taken_names_the_setting(files):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = await refusal(files, tls_port=port)
        assert f"cannot listen on 127.0.0.1:{port}" in said
        assert "DOORBUSTER_GATEWAY_TLS_PORT" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tls_port": "1", "tls_certificate": "c"}, "tls_port needs tls_key; `make certs`"),
        ({"tls_port": "1", "tls_key": "k"}, "tls_port needs tls_certificate; `make certs`"),
        ({"tls_port": "8080"}, "port and tls_port are both 8080"),
        ({"tls_port": "8082"}, "tls_port and shop_port are both 8082"),
        ({"tls_minimum": "1.1"}, "--tls-minimum=1.1: must be `1.2` or `1.3`"),
        ({"tls_handshakes": "0"}, "--tls-handshakes=0: must be a whole number from 1"),
        ({"tls_waiting": "0"}, "--tls-waiting=0: must be a whole number from 1"),
        ({"connection_admission_parameters": "x"}, "--connection-admission-parameters=x: must be"),
    ],
)
def test_settings_that_cannot_be(options, words):
    with pytest.raises(SettingsError) as caught:
        settings.read({}, options)
    assert words in str(caught.value)


async def test_without_a_port_there_is_no_tls_and_no_thread(files):
    async with tls_bed(files, tls_port=None) as b:
        assert (await b.get("/")).endswith(b"you asked for /")
        assert not handshake_threads()
        _, snapshot = await b.admin("GET", "/snapshot")
        assert snapshot["connections"]["under_way"] == 0
