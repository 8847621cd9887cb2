"""Standard Webhooks: signed as its reference signs, and only what is proven is verified."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedules import webhooks

# The example by which the specification's own libraries are tested.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
SENT_AT = 1_614_265_330_000
BODY = b'{"test": 2432232314}'
SIGNED = {
    "webhook-id": ID,
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}


def verified(secret: str = SECRET, body: bytes = BODY, now: int = SENT_AT, **changed: Any) -> str:
    headers = {**SIGNED, **{f"webhook-{name}": value for name, value in changed.items()}}
    return webhooks.verify(secret, headers, body, now)


def test_a_message_is_signed_as_the_specification_signs_it() -> None:
    assert webhooks.sign(SECRET, ID, BODY, SENT_AT) == SIGNED
    assert webhooks.sign(SECRET, ID, BODY, SENT_AT + 999) == SIGNED


def test_what_is_signed_is_verified_and_gives_the_message_s_id() -> None:
    assert verified() == ID


def test_the_names_of_headers_come_in_any_case() -> None:
    headers = {name.title(): value for name, value in SIGNED.items()}
    assert webhooks.verify(SECRET, headers, BODY, SENT_AT) == ID


def test_one_good_signature_among_several_is_enough() -> None:
    other = webhooks.sign(webhooks.new_secret(), ID, BODY, SENT_AT)["webhook-signature"]
    assert verified(signature=f"{other} v1a,abc {SIGNED['webhook-signature']}") == ID


@pytest.mark.parametrize(
    "changed",
    [
        {"body": BODY + b" "},
        {"body": b""},
        {"id": "msg_another"},
        {"timestamp": "1614265331"},
        {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx"},
        {"signature": SIGNED["webhook-signature"].replace("v1,", "v2,")},
        {"signature": SIGNED["webhook-signature"].removeprefix("v1,")},
        {"signature": SIGNED["webhook-signature"][:-2]},
        {"signature": "v1,\udce9"},
        {"signature": "é"},
    ],
)
def test_anything_else_than_what_was_signed_is_not_verified(changed: dict[str, Any]) -> None:
    with pytest.raises(webhooks.Unverified, match="No signature"):
        verified(**changed)


@pytest.mark.parametrize("name", list(SIGNED))
def test_a_message_without_one_of_its_headers_is_not_verified(name: str) -> None:
    without = {header: value for header, value in SIGNED.items() if header != name}
    for headers in (without, {**without, name: ""}):
        with pytest.raises(webhooks.Unverified, match="needs the headers"):
            webhooks.verify(SECRET, headers, BODY, SENT_AT)


@pytest.mark.parametrize("timestamp", ["now", "-1614265330", "1614265330.0", "١٦١٤٢٦٥٣٣٠", "1614265330\n", "9" * 5000])
def test_a_timestamp_that_is_no_number_is_not_verified(timestamp: str) -> None:
    with pytest.raises(webhooks.Unverified, match="whole seconds"):
        verified(timestamp=timestamp)


@pytest.mark.parametrize("seconds", [-301, 301])
def test_a_message_from_another_time_may_be_a_replay_and_is_not_verified(seconds: int) -> None:
    with pytest.raises(webhooks.Unverified, match="more than 300 seconds"):
        verified(now=SENT_AT + seconds * 1000)


@pytest.mark.parametrize("seconds", [-300, 300])
def test_clocks_may_differ_by_five_minutes(seconds: int) -> None:
    assert verified(now=SENT_AT + seconds * 1000) == ID


def test_each_new_secret_is_another_and_is_a_secret() -> None:
    made = {webhooks.new_secret() for _ in range(100)}
    assert len(made) == 100
    assert {len(webhooks.key(secret)) for secret in made} == {24}


def of_bytes(count: int) -> str:
    return "whsec_" + base64.b64encode(bytes(count)).decode()


@pytest.mark.parametrize("count", [24, 64])
def test_a_key_of_24_to_64_bytes_is_taken(count: int) -> None:
    assert webhooks.key(of_bytes(count)) == bytes(count)


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        SECRET.removeprefix("whsec_"),
        SECRET[:-1],
        SECRET[:-1] + "!",
        SECRET + "\n",
        "whsec_é",
        "whsec_\ud800",
        of_bytes(23),
        of_bytes(65),
    ],
)
def test_a_text_that_is_no_secret_is_refused_without_showing_it(secret: str) -> None:
    with pytest.raises(ValueError, match="A secret is whsec_ followed by") as refused:
        webhooks.sign(secret, ID, BODY, SENT_AT)
    assert SECRET[6:-2] not in str(refused.value)


@given(st.binary(max_size=200), st.text(min_size=1, max_size=40), st.integers(0, 4_000_000_000_000))
def test_whatever_is_signed_is_verified(body: bytes, message_id: str, now: int) -> None:
    secret = webhooks.new_secret()
    assert webhooks.verify(secret, webhooks.sign(secret, message_id, body, now), body, now) == message_id


@given(st.dictionaries(st.sampled_from(list(SIGNED)), st.text(max_size=40)), st.binary(max_size=40))
def test_nothing_made_up_is_verified(headers: dict[str, str], body: bytes) -> None:
    with pytest.raises(webhooks.Unverified):
        webhooks.verify(SECRET, headers, body, SENT_AT)
