"""Signing what is sent to a webhook, and verifying it there, as Standard Webhooks says. Pure: a host may use it too."""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping

PREFIX = "whsec_"
ID = "webhook-id"
TIMESTAMP = "webhook-timestamp"
SIGNATURE = "webhook-signature"
#: How far a message's timestamp may be from the receiver's clock, in seconds.
TOLERANCE_SECONDS = 300

_LEAST, _MOST = 24, 64
_VERSION = "v1"
_SECONDS = re.compile(r"[0-9]{1,15}", re.ASCII)


class Unverified(Exception):
    """A message is not proven to come from who holds the secret, or not to be a replay. Its text says why."""


def new_secret() -> str:
    """A new random secret, ``whsec_...``."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_LEAST)).decode()


def key(secret: str) -> bytes:
    """The key in a secret. Raises ValueError, with words that do not hold it, for a text that is no secret."""
    try:
        found = base64.b64decode(secret.removeprefix(PREFIX).encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        found = b""
    if not secret.startswith(PREFIX) or not _LEAST <= len(found) <= _MOST:
        raise ValueError(f"A secret is {PREFIX} followed by base64 of {_LEAST} to {_MOST} random bytes.")
    return found


def sign(secret: str, message_id: str, body: bytes, now: int) -> dict[str, str]:
    """The headers that sign a message sent at ``now`` (epoch ms). Raises ValueError for a text that is no secret.

    A message sent again keeps its id, by which the receiver knows it, and is signed anew.
    """
    timestamp = str(now // 1000)
    return {ID: message_id, TIMESTAMP: timestamp, SIGNATURE: _signature(key(secret), message_id, timestamp, body)}


def verify(
    secret: str, headers: Mapping[str, str], body: bytes, now: int, tolerance_seconds: int = TOLERANCE_SECONDS
) -> str:
    """The id of a message that arrived at ``now`` (epoch ms) with these headers, whose names are in any case.

    Raises Unverified, and ValueError for a secret that is none. The same id twice is the same message sent twice.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp, signatures = (sent.get(name) for name in (ID, TIMESTAMP, SIGNATURE))
    if not message_id or not timestamp or not signatures:
        raise Unverified(f"It needs the headers {ID}, {TIMESTAMP} and {SIGNATURE}.")
    if not _SECONDS.fullmatch(timestamp):
        raise Unverified(f"{TIMESTAMP} must be whole seconds since the epoch.")
    if abs(now // 1000 - int(timestamp)) > tolerance_seconds:
        raise Unverified(f"{TIMESTAMP} is more than {tolerance_seconds} seconds from this clock.")
    wanted = _signature(key(secret), message_id, timestamp, body).encode()
    # Several while a secret is being replaced.
    if not any(hmac.compare_digest(wanted, one.encode("utf-8", "replace")) for one in signatures.split(" ")):
        raise Unverified("No signature is that of this secret and these bytes.")
    return message_id


def _signature(secret: bytes, message_id: str, timestamp: str, body: bytes) -> str:
    signed = f"{message_id}.{timestamp}.".encode("utf-8", "replace") + body
    return f"{_VERSION},{base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()}"
