"""Lets a Java brought by pip trust the certificates this machine trusts, also those of a company's proxy."""

from __future__ import annotations

import hashlib
import ssl
import struct
from pathlib import Path

# Where Linux distributions keep one file with all certificates; Python's own default comes first.
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
# A trust store holds nothing secret, but the format wants a password; this is the customary one.
_PASSWORD = "changeit"  # noqa: S105


def write_trust_store(path: Path) -> int:
    """Write a Java key store (JKS) with the machine's certificates; return their number, 0 writes nothing."""
    certificates = machine_certificates()
    if certificates:
        path.write_bytes(key_store(certificates))
    return len(certificates)


def machine_certificates() -> tuple[bytes, ...]:
    """The trusted certificates of this machine as DER, or none where only Java's own list is to be had."""
    paths = ssl.get_default_verify_paths()
    for bundle in (paths.cafile, *_BUNDLES):
        if bundle and Path(bundle).is_file():
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(bundle)
            return tuple(context.get_ca_certs(binary_form=True))
    return ()


def key_store(certificates: tuple[bytes, ...]) -> bytes:
    """The bytes of a JKS key store: header, one trusted entry a certificate, keyed digest of it all."""
    entries = b"".join(_entry(f"ca{n}", certificate) for n, certificate in enumerate(certificates))
    body = struct.pack(">III", 0xFEEDFEED, 2, len(certificates)) + entries
    # The digest is the format's, a checksum rather than protection.
    keyed = _PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body
    return body + hashlib.sha1(keyed, usedforsecurity=False).digest()


def _entry(alias: str, certificate: bytes) -> bytes:
    trusted, no_date = 2, 0
    head = struct.pack(">I", trusted) + _text(alias) + struct.pack(">Q", no_date) + _text("X.509")
    return head + struct.pack(">I", len(certificate)) + certificate


def _text(value: str) -> bytes:
    data = value.encode("ascii")
    return struct.pack(">H", len(data)) + data
