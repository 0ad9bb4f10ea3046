"""The appliance's certificates: a certificate authority, and a server certificate that it signs.

The authority signs only this certificate, because the authority's key is not stored. A client that
trusts the authority therefore accepts only this one certificate from it, and a new server
certificate needs a new authority.
"""

import contextlib
import datetime
import ipaddress
import re
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from common import private_file
from runtime.certificate_files import CHEAP_KEY, CertificateError, CertificateFiles, rsa_bits

VALID_DAYS: Final = 397  # the maximum number of days that browsers accept
RENEWED_BEFORE_DAYS: Final = 7
EVERY_ADDRESS: Final = frozenset(("0.0.0.0", "::"))

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def own_names(*hosts: str) -> tuple[str, ...]:
    """Return this machine's host name, its loopback names, and `hosts`.

    If one of the hosts is a wildcard address (0.0.0.0 or ::), the result includes the machine's
    full name and its addresses in the network.
    """
    names = ["localhost", socket.gethostname(), "127.0.0.1", "::1"]
    names += [host for host in hosts if host not in EVERY_ADDRESS]
    if EVERY_ADDRESS.intersection(hosts):
        names += [socket.getfqdn(), *_outward_addresses()]
    return tuple(dict.fromkeys(_plain(name) for name in names if _alternative(name) is not None))


def _outward_addresses() -> Iterator[str]:
    """Yield the addresses from which this machine reaches other networks; send no data."""
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((elsewhere, 9))
            yield asking.getsockname()[0]


def unusable(files: CertificateFiles, names: Iterable[str] = ()) -> str | None:
    """Return why the files cannot be used for these names during the next 7 days, or None if they
    can be used.
    """
    try:
        authority = x509.load_pem_x509_certificate(files.authority.read_bytes())
        server = x509.load_pem_x509_certificate(files.server.read_bytes())
        key = load_pem_private_key(files.key.read_bytes(), None)
        server.verify_directly_issued_by(authority)
    except FileNotFoundError as error:
        return f"there is no {error.filename}"
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    except (ValueError, TypeError, InvalidSignature):
        return f"the files in {files.folder} are damaged"
    if key.public_key() != server.public_key():
        return f"{files.key} is not the private key for {files.server}"
    if why := _out_of_date(server, authority):
        return why
    missing = sorted(set(names) - set(names_in(files.server)))
    return f"not valid for {', '.join(missing)}" if missing else None


def out_of_date(server: Path) -> str | None:
    """Return why the file's certificate is not valid during the next 7 days, or None if it is."""
    try:
        return _out_of_date(x509.load_pem_x509_certificate(server.read_bytes()))
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    except ValueError:
        return f"{server} is not a certificate in PEM form"


def _out_of_date(*chain: x509.Certificate) -> str | None:
    now = datetime.datetime.now(datetime.UTC)
    begins = max(one.not_valid_before_utc for one in chain)
    ends = min(one.not_valid_after_utc for one in chain)
    if now < begins:
        return f"not valid before {begins:%Y-%m-%d}; is this machine's clock right?"
    if now > ends:
        return f"expired on {ends:%Y-%m-%d}"
    if now > ends - _days(RENEWED_BEFORE_DAYS):
        return f"expires soon, on {ends:%Y-%m-%d}"
    return None


def names_in(server: Path) -> tuple[str, ...]:
    """Return the host names and addresses for which this file's first certificate is valid."""
    extensions = x509.load_pem_x509_certificate(server.read_bytes()).extensions
    try:
        listed = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:  # today's clients do not accept it
        return ()
    addresses = listed.get_values_for_type(x509.IPAddress)
    return (*listed.get_values_for_type(x509.DNSName), *map(str, addresses))


def valid_until(files: CertificateFiles) -> datetime.date:
    """Return the last day on which the server's certificate is valid."""
    certificate = x509.load_pem_x509_certificate(files.server.read_bytes())
    return certificate.not_valid_after_utc.date()


def key_name(files: CertificateFiles) -> str:
    """Return the kind and size of the server's key, in the form that `make` accepts."""
    key = x509.load_pem_x509_certificate(files.server.read_bytes()).public_key()
    return f"rsa-{key.key_size}" if isinstance(key, rsa.RSAPublicKey) else CHEAP_KEY


def keep(
    folder: Path, key: str = CHEAP_KEY, names: Iterable[str] = ()
) -> tuple[CertificateFiles, str]:
    """Create certificates unless valid certificates for these names exist. Return the files, and
    the reason for creating them ("" if nothing was created). Raises CertificateError if the
    key or a name is invalid, or if the folder cannot be written.
    """
    rsa_bits(key)
    there = CertificateFiles(folder)
    names = tuple(names) or own_names()
    why = unusable(there, names)
    return (there, "") if why is None else (make(folder, key, names), why)


def make(folder: Path, key: str = CHEAP_KEY, names: Iterable[str] = ()) -> CertificateFiles:
    """Create an authority and a server certificate with a key of this kind, and replace the old
    files.

    `key` is ec-p256 or rsa-N (N bits); `names` are host names and addresses, by default this
    machine's. Raises CertificateError if the key or a name is invalid, or if the folder cannot be
    written. An invalid key or name changes no file.
    """
    made = CertificateFiles(folder)
    alternatives = []
    for name in tuple(names) or own_names():
        alternative = _alternative(name)
        if alternative is None:
            raise CertificateError(f"{name!r} is neither a host name nor an address")
        alternatives.append(alternative)
    server_key = _new_key(key)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = _name("Doorbuster local authority")
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    authority = (
        _unsigned(authority_name, authority_name, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    server = (
        _unsigned(_name("Doorbuster"), authority_name, server_key)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
            critical=False,
        )
        .sign(authority_key, hashes.SHA256())
    )
    private = server_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content, mode in (
            (made.key, private, 0o600),
            (made.server, server.public_bytes(Encoding.PEM), 0o644),
            (made.authority, authority.public_bytes(Encoding.PEM), 0o644),
        ):
            private_file.write(path, content, mode)
    except OSError as error:
        raise CertificateError(f"{folder} cannot be written: {error.strerror}") from None
    return made


def _new_key(kind: str) -> PrivateKey:
    bits = rsa_bits(kind)
    if bits is None:
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def _unsigned(subject: x509.Name, issuer: x509.Name, key: PrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _days(1))  # clocks differ
        .not_valid_after(now + _days(VALID_DAYS - 1))
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _plain(name: str) -> str:
    """Return the name as in a certificate: in lower case, and an address in its short form."""
    try:
        return str(ipaddress.ip_address(name.partition("%")[0]))  # without its zone
    except ValueError:
        return name.lower()


def _alternative(name: str) -> x509.GeneralName | None:
    plain = _plain(name)
    try:
        return x509.IPAddress(ipaddress.ip_address(plain))
    except ValueError:
        label = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?"
        is_name = len(plain) <= 253 and re.fullmatch(rf"{label}(\.{label})*", plain)
        return x509.DNSName(plain) if is_name else None


def _days(count: int) -> datetime.timedelta:
    return datetime.timedelta(days=count)
