"""Which internet addresses lie in the public, and what an operator's list of exceptions says."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

# IANA's registries of special addresses, written out: what the standard library makes of them differs between its
# releases.
_SPECIAL_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by the customers of a carrier
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local: clouds keep their machines' credentials there
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
_SPECIAL_V6 = tuple(IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "3fff::/20"))
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")

_NAME = re.compile(r"(?=.{1,253}\Z)([a-z0-9_][a-z0-9_-]{0,62}\.)*[a-z0-9_][a-z0-9_-]{0,62}", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


def read(text: str) -> Address | None:
    """The address of a text, without the zone that a link-local one may carry; None for any other text."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def entry(text: str) -> Network | str | None:
    """An exception: a network (an address is one of a single address) or a host's name; None where it is neither."""
    try:
        return ip_network(text)
    except ValueError:
        name = text.lower()
        # A name that ends in a number is an address in one of its odd spellings.
        if not _NAME.fullmatch(name) or _NUMBER.fullmatch(name.rpartition(".")[2]):
            return None
        return name


def public(address: Address) -> bool:
    """Whether an address is one of the public internet's, and so is the IPv4 address that it may stand for."""
    meant = _meant(address)
    if isinstance(meant, IPv4Address):
        return not any(meant in network for network in _SPECIAL_V4)
    return meant in _PUBLIC_V6 and not any(meant in network for network in _SPECIAL_V6)


def permitted(host: str, address: Address, exceptions: Iterable[str]) -> bool:
    """Whether ``address``, to which ``host`` leads, may be reached: it is public, or an exception. Skips bad ones."""
    if public(address):
        return True
    for allowed in map(entry, exceptions):
        if isinstance(allowed, str):
            if allowed == host.lower():
                return True
        elif allowed is not None and (address in allowed or _meant(address) in allowed):
            return True
    return False


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, if it does: mapped, behind NAT64 or in 6to4."""
    if isinstance(address, IPv4Address):
        return address
    if address in _MAPPED or address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        return IPv4Address(int(address) >> 80 & 0xFFFFFFFF)
    return address
