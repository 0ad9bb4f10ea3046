"""Certificates: made once, kept while they are valid, refused in one line."""

import contextlib
import datetime
import socket
import ssl
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from doorbuster.commands import main
from runtime import certificates
from runtime.certificate_files import CertificateError, CertificateFiles
from tests.runtime.conftest import Appliance

NAMES = ("localhost", "127.0.0.1", "::1", "shop.example")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> CertificateFiles:
    return certificates.make(tmp_path_factory.mktemp("made"), "rsa-2048", NAMES)


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> None:
    """Shake hands; raise the client's error about the server's certificate."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with theirs, contextlib.suppress(OSError):  # the client's to tell
            server.wrap_socket(theirs, server_side=True).close()

    thread = threading.Thread(target=serve)
    thread.start()
    with ours:
        try:
            client.wrap_socket(ours, server_hostname=name).close()
        finally:
            ours.close()
            thread.join()


def test_a_client_that_trusts_the_authority_trusts_the_server_by_each_name(
    made: CertificateFiles,
) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(made.server, made.key)
    client = ssl.create_default_context(cafile=made.authority)
    for name in NAMES:
        shake_hands(server, client, name)
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        shake_hands(server, client, "elsewhere.example")
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        shake_hands(server, ssl.create_default_context(), "localhost")


def test_the_key_is_its_owners_alone_and_nothing_else_is_left(made: CertificateFiles) -> None:
    assert made.key.stat().st_mode & 0o777 == 0o600
    names = ["authority.pem", "server-key.pem", "server.pem"]
    assert sorted(path.name for path in made.folder.iterdir()) == names
    assert certificates.key_name(made) == "rsa-2048"
    assert set(certificates.names_in(made.server)) == set(NAMES)


def test_good_ones_are_kept(made: CertificateFiles) -> None:
    before = made.server.read_bytes()
    assert certificates.keep(made.folder, "ec-p256", NAMES) == (made, "")
    assert made.server.read_bytes() == before


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda files: files.key.unlink(), "there is no "),
        (lambda files: files.server.write_bytes(b"rubbish"), "damaged"),
        (
            lambda files: files.key.write_bytes(other(files).key.read_bytes()),
            "is not the private key for",
        ),
        (lambda files: files.authority.write_bytes(other(files).authority.read_bytes()), "damaged"),
    ],
    ids=["gone", "damaged", "other key", "other authority"],
)
def test_others_are_made_anew(tmp_path: Path, spoil, why: str) -> None:
    files = certificates.make(tmp_path, names=NAMES)
    spoil(files)
    assert why in str(certificates.unusable(files, NAMES))
    made, said = certificates.keep(tmp_path, names=NAMES)
    assert why in said
    assert certificates.unusable(made, NAMES) is None


def other(files: CertificateFiles) -> CertificateFiles:
    return certificates.make(files.folder / "other", names=NAMES)


def test_one_that_names_nobody_is_no_good(tmp_path: Path) -> None:
    """An old authority may have signed it: a name in its subject only."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

    files = certificates.make(tmp_path, names=NAMES)
    key = load_pem_private_key(files.key.read_bytes(), None)
    old = x509.load_pem_x509_certificate(files.server.read_bytes())
    nameless = (
        x509.CertificateBuilder()
        .subject_name(old.subject)
        .issuer_name(old.subject)
        .public_key(old.public_key())
        .serial_number(old.serial_number)
        .not_valid_before(old.not_valid_before_utc)
        .not_valid_after(old.not_valid_after_utc)
        .sign(key, hashes.SHA256())  # type: ignore[arg-type]
    )
    for path in (files.server, files.authority):
        path.write_bytes(nameless.public_bytes(Encoding.PEM))
    assert certificates.names_in(files.server) == ()
    assert certificates.unusable(files, NAMES) == f"not valid for {', '.join(sorted(NAMES))}"


def test_a_new_name_needs_a_new_one(made: CertificateFiles) -> None:
    assert certificates.unusable(made, [*NAMES, "10.0.0.7"]) == "not valid for 10.0.0.7"


def in_days(days: int) -> type[datetime.datetime]:
    """Return a `datetime.datetime` that is `days` days ahead."""
    then = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)

    class Then(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> "Then":
            return cls.fromtimestamp(then.timestamp(), tz)

    return Then


def test_what_ends_within_days_is_as_good_as_over(
    made: CertificateFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = f"{certificates.valid_until(made)}"
    for days, why in (
        (-2, "not valid before "),
        (certificates.VALID_DAYS - certificates.RENEWED_BEFORE_DAYS - 2, None),
        (certificates.VALID_DAYS - certificates.RENEWED_BEFORE_DAYS, f"expires soon, on {ends}"),
        (certificates.VALID_DAYS, f"expired on {ends}"),
    ):
        monkeypatch.setattr(certificates.datetime, "datetime", in_days(days))
        found = (certificates.unusable(made, NAMES), certificates.out_of_date(made.server))
        if why is None:
            assert found == (None, None)
        else:
            assert all(str(each).startswith(why) for each in found), found
        monkeypatch.undo()


def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    assert "No such file" in str(certificates.out_of_date(tmp_path / "no"))
    (tmp_path / "rubbish").write_text("rubbish")
    assert "rubbish is not a certificate" in str(certificates.out_of_date(tmp_path / "rubbish"))


@pytest.mark.parametrize("kind", ["rsa-2049", "rsa-99999", "rsa", "ed25519", "", "rsa-1024"])
def test_no_such_key(made: CertificateFiles, tmp_path: Path, kind: str) -> None:
    why = "too short: .* at least 2048" if kind == "rsa-1024" else "unknown kind of key; allowed: "
    with pytest.raises(CertificateError, match=f"key {kind}: {why}"):
        certificates.make(tmp_path / "new", kind, NAMES)
    assert not (tmp_path / "new").exists()
    with pytest.raises(CertificateError, match=f"key {kind}: {why}"):
        certificates.keep(made.folder, kind, NAMES)


@pytest.mark.parametrize("name", ["", "a b", "-x", "ex ample", "a..b", "*"])
def test_no_such_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(CertificateError, match="neither a host name nor an address"):
        certificates.make(tmp_path / "new", names=[name])
    assert not (tmp_path / "new").exists()


def test_names_of_this_machine() -> None:
    names = certificates.own_names("fe80::1%eth0")
    assert {"localhost", "127.0.0.1", "::1", "fe80::1"} <= set(names)
    assert "0.0.0.0" not in certificates.own_names("0.0.0.0")
    assert len(set(names)) == len(names)


def test_the_command_makes_keeps_and_replaces(appliance: Appliance) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, arguments, env=appliance.variables)
        return done.exit_code, done.output

    code, printed = run("certs", "--key", "rsa-2048")
    assert code == 0, printed
    assert "Made (there is no " in printed
    assert "rsa-2048" in printed
    assert "curl --cacert" in printed
    code, printed = run("certs")
    assert (code, printed[:5]) == (0, "Kept:")
    code, printed = run("certs", "--key", "ec-p256")
    assert code == 1
    assert "a valid certificate with rsa-2048 already exists" in printed
    assert "fix: make certs KEY=ec-p256 ARGS=--replace" in printed
    code, printed = run("certs", "--key", "ec-p256", "--replace")
    assert code == 0, printed
    assert "ec-p256" in printed
    code, printed = run("certs", "--key", "rsa-3", "--replace")
    assert code == 2
    assert "key rsa-3: too short" in printed
    assert "allowed: ec-p256, or rsa-N with N from 2048" in printed
    assert "Traceback" not in printed


def test_on_a_lab_host_they_lie_beside_what_other_parts_keep(
    appliance: Appliance, tmp_path: Path
) -> None:
    (tmp_path / "console").mkdir()
    code, printed = appliance.run("certs", DOORBUSTER_STATE_DIR=str(tmp_path))
    assert code == 0, printed
    assert {path.name for path in tmp_path.iterdir()} == {"console", "certificates"}
