"""Secrets of one run: what lets its own processes talk to each other, and nobody else.

On a machine that several people use, all of them reach the loopback. Dask's processes therefore prove to each other
that they hold the key of the run, and encrypt what they say (TLS in both directions). The key is made when a run
starts and dies with it.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

NAME = "dse"
PREFIX = "DASK_DISTRIBUTED__COMM__"
BEGINNING = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
YEARS = 20


def of_one_run() -> Any:
    """Return a ``distributed.security.Security`` with a key of its own, for scheduler, workers and clients alike.

    Dask makes one as well (``Security.temporary``), whose certificate is not valid before this second: a node whose
    clock is behind, or a clock that is set back during a sweep, would refuse it. Its RSA key also takes 0.1 to 0.2 s
    of processor time to find; one on an elliptic curve takes a millisecond.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from distributed.security import Security

    key = ec.generate_private_key(ec.SECP256R1())
    ours = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    made = (
        x509.CertificateBuilder()
        .subject_name(ours)
        .issuer_name(ours)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(BEGINNING)
        .not_valid_after(datetime.datetime.now(tz=datetime.UTC) + datetime.timedelta(days=365 * YEARS))
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()
    shown = made.public_bytes(serialization.Encoding.PEM).decode()
    roles = {
        f"tls_{role}_{part}": text
        for role in ("client", "scheduler", "worker")
        for part, text in (("cert", shown), ("key", secret))
    }
    return Security(require_encryption=True, tls_ca_file=shown, **roles)


def handed_over(security: Any) -> dict[str, str]:
    """Return the environment by which a Dask worker gets its part: only its own user can read that."""
    told = security.get_tls_config_for_role("worker")
    return {
        f"{PREFIX}REQUIRE_ENCRYPTION": "True",
        f"{PREFIX}TLS__CA_FILE": told["ca_file"],
        f"{PREFIX}TLS__WORKER__CERT": told["cert"],
        f"{PREFIX}TLS__WORKER__KEY": told["key"],
    }


def of_jobs(folder: Path) -> Any:
    """Return the Security for jobs of a batch system and their scheduler, or None: they are to talk unencrypted.

    Dask's configuration decides (``distributed.comm``): certificates for all roles are used as they are, and
    ``require-encryption: false`` means no TLS. Else there is a key of the run; workers read it from ``folder``, which
    nobody but the user may look into.
    """
    import dask.config
    from distributed.security import Security

    if dask.config.get("distributed.comm.require-encryption", default=None) is False:
        return None
    known = Security(require_encryption=True)
    if all((known.tls_ca_file, known.tls_client_cert, known.tls_scheduler_cert, known.tls_worker_cert)):
        return known
    made = of_one_run()
    told = made.get_tls_config_for_role("worker")
    # the paths stand in command lines, the secrets do not
    made.tls_ca_file = _kept(folder / "authority.pem", told["ca_file"])
    made.tls_worker_cert = _kept(folder / "certificate.pem", told["cert"])
    made.tls_worker_key = _kept(folder / "key.pem", told["key"])
    return made


def _kept(file: Path, text: str) -> str:
    file.touch(mode=0o600)
    file.write_text(text)
    return str(file)


def encrypted(address: str) -> bool:
    """Whether what goes to an address of Dask is encrypted, or does not leave this process."""
    return address.partition("://")[0] in {"tls", "wss", "inproc"}


def unprotected(address: str) -> bool:
    """Whether what goes to a Dask scheduler can be read, and forged, on the way.

    Within this machine (also at the end of a tunnel) there is no way; who runs a scheduler there is told by
    docs/security.md.
    """
    import ipaddress

    from distributed.comm import get_address_host

    if encrypted(address):
        return False
    try:
        return not ipaddress.ip_address(get_address_host(address)).is_loopback
    except ValueError:
        return True
