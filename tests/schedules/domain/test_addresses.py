"""Which addresses are public, in each of the forms in which one can be written, and what an exception allows."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedules.domain import addresses

PUBLIC = ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "223.255.255.255"]
SPECIAL = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
]
PUBLIC_V6 = ["2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "2001:4860:4860::8888"]
SPECIAL_V6 = [
    "::",
    "::1",
    "::7f00:1",  # IPv4-compatible, long out of use
    "::ffff:0:127.0.0.1",  # IPv4-translated
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",  # Teredo
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]


def seen(text: str) -> bool:
    address = addresses.read(text)
    assert address is not None
    return addresses.public(address)


def forms(text: str) -> list[str]:
    """The IPv6 addresses that stand for an IPv4 one: mapped, behind NAT64, in 6to4."""
    value = int(IPv4Address(text))
    return [f"::ffff:{text}", f"64:ff9b::{text}", str(IPv6Address((0x2002 << 112) | (value << 80) | 1))]


@pytest.mark.parametrize("text", PUBLIC + PUBLIC_V6)
def test_an_address_of_the_internet_is_public(text: str) -> None:
    assert seen(text)


@pytest.mark.parametrize("text", SPECIAL + SPECIAL_V6)
def test_an_address_of_any_other_use_is_not_public(text: str) -> None:
    assert not seen(text)


@pytest.mark.parametrize("text", PUBLIC)
def test_an_address_that_stands_for_a_public_one_is_public(text: str) -> None:
    assert [seen(form) for form in forms(text)] == [True, True, True]


@pytest.mark.parametrize("text", SPECIAL)
def test_an_address_that_stands_for_another_is_no_more_public_than_that(text: str) -> None:
    assert [seen(form) for form in forms(text)] == [False, False, False]


@given(st.ip_addresses())
def test_whatever_the_standard_library_knows_as_special_is_not_public(address: addresses.Address) -> None:
    if isinstance(address, IPv6Address) and (address.ipv4_mapped or address.sixtofour):
        return  # as special as the address that it stands for
    if address.is_private or address.is_loopback or address.is_link_local or address.is_multicast:
        assert not addresses.public(address)


def test_the_zone_of_a_link_local_address_does_not_hide_it() -> None:
    assert not seen("fe80::1%eth0")


@pytest.mark.parametrize("text", ["", "hook.example", "1.2.3", "01.2.3.4", "0x7f.0.0.1", "1.2.3.4.5", "[::1]", "::g"])
def test_what_is_no_address_is_none(text: str) -> None:
    assert addresses.read(text) is None


@pytest.mark.parametrize(
    "text", ["localhost", "hook.example", "HOOK.example", "a-b.c_d.example", "xn--bcher-kva.example"]
)
def test_a_host_s_name_is_an_exception(text: str) -> None:
    assert addresses.entry(text) == text.lower()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "*",
        "*.example",
        "a..b",
        ".example",
        "example.",
        "hook.example:80",
        "http://hook.example",
        "bücher.example",
        "hook.example\n",
        "10.0.0.1/8",
        "10.0.0.0/33",
        "10.0.0",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "a" * 64,
        "a." * 127 + "a",
    ],
)
def test_what_is_neither_a_name_nor_a_network_is_no_exception(text: str) -> None:
    assert addresses.entry(text) is None


def may(host: str, address: str, *exceptions: str) -> bool:
    found = addresses.read(address)
    assert found is not None
    return addresses.permitted(host, found, exceptions)


def test_a_public_address_needs_no_exception() -> None:
    assert may("hook.example", "1.1.1.1")
    assert not may("hook.example", "10.0.0.5")


def test_an_exception_allows_its_network_its_address_or_its_host_alone() -> None:
    assert may("hook.example", "10.0.0.5", "10.0.0.0/8")
    assert may("hook.example", "10.0.0.5", "10.0.0.5")
    assert may("hook.example", "10.0.0.5", "Hook.Example")
    assert may("hook.example", "fd00::5", "fd00::/8")
    assert not may("hook.example", "10.0.0.5", "10.0.0.6", "192.168.0.0/16", "fd00::/8", "other.example", "example")


def test_an_exception_for_an_ipv4_address_holds_for_the_forms_that_stand_for_it() -> None:
    assert [may("hook.example", form, "10.0.0.0/8") for form in forms("10.0.0.5")] == [True, True, True]
    assert may("hook.example", "::ffff:10.0.0.5", "::ffff:0:0/96")


def test_a_malformed_exception_allows_nothing_and_spoils_no_other() -> None:
    assert not may("hook.example", "10.0.0.5", "10.0.0.1/8", "*")
    assert may("hook.example", "10.0.0.5", "10.0.0.1/8", "10.0.0.5")
