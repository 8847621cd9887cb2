"""Pages and query strings: what does not read as asked is a 400 that names the parameter."""

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from schedules.api import paging
from schedules.sessions.errors import Refusal


def asking(**query: str) -> Request:
    return Request(APIRequestFactory().get("/", query))


def test_a_page_holds_fifty_unless_told() -> None:
    assert paging.limit(asking()) == 50


@pytest.mark.parametrize(("text", "limit"), [("1", 1), ("1000", 1000), ("007", 7)])
def test_a_limit_is_a_whole_number_up_to_a_thousand(text: str, limit: int) -> None:
    assert paging.limit(asking(limit=text)) == limit


@pytest.mark.parametrize(
    "text",
    ["0", "-1", "1001", "9" * 5000, "", " 5", "5\n", "+5", "5.0", "1e2", "٥", "５", "five", "\0", "0x10"],
)
def test_any_other_limit_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        paging.limit(asking(limit=text))
    assert refused.value.code == "invalid_request"
    assert refused.value.fields == {"limit": "Send a whole number from 1 to 1000."}


def test_a_number_may_be_negative_where_its_range_is() -> None:
    after = {"default": -1, "low": -1, "high": 2**53 - 1}
    assert paging.whole_number(asking(after="-1"), "after", **after) == -1
    assert paging.whole_number(asking(after=str(2**53 - 1)), "after", **after) == 2**53 - 1
    assert paging.whole_number(asking(), "after", **after) == -1
    with pytest.raises(Refusal):
        paging.whole_number(asking(after="-2"), "after", **after)


def test_a_flag_is_true_false_or_absent() -> None:
    assert [paging.flag(asking(live=text), "live") for text in ("true", "false")] == [True, False]
    assert paging.flag(asking(), "live") is None


@pytest.mark.parametrize("text", ["", "1", "True", "yes", "null"])
def test_any_other_flag_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        paging.flag(asking(live=text), "live")
    assert refused.value.fields == {"live": "Send true or false."}


def test_an_unknown_parameter_is_ignored() -> None:
    assert paging.limit(asking(colour="blue", limit="3")) == 3


readable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=128)


@given(st.integers(-(2**53) + 1, 2**53 - 1), readable)
def test_a_cursor_comes_back_as_the_key_it_was_made_of(number: int, text: str) -> None:
    made = paging.encode_cursor([number, text])
    assert paging.cursor(asking(cursor=made), int, str) == [number, text]


def test_a_cursor_needs_no_escape_in_an_address() -> None:
    assert all(char.isalnum() or char in "-_" for char in paging.encode_cursor([-1, "ÿþ>?\U0001f600"]))


def test_a_first_page_has_no_cursor() -> None:
    assert paging.cursor(asking(), int, str) is None


def forged(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "====",
        "\0",
        "é",
        "WzEs",
        "A" * 5000,
        forged("null"),
        forged("{}"),
        forged("[]"),
        forged("[1]"),
        forged('["a", 1]'),
        forged('[1, "a", 2]'),
        forged('[true, "a"]'),
        forged('[1.0, "a"]'),
        forged('[1e400, "a"]'),
        forged('[9007199254740992, "a"]'),
        forged('[1, "\\u0000"]'),
        forged('[1, "\\ud800"]'),
        forged("[" * 1000),
    ],
)
def test_a_forged_or_torn_cursor_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        paging.cursor(asking(cursor=text), int, str)
    assert refused.value.code == "invalid_request"
    assert set(refused.value.fields or ()) == {"cursor"}


@given(st.text(max_size=40))
def test_no_cursor_is_an_unexpected_error(text: str) -> None:
    with contextlib.suppress(Refusal):
        paging.decode_cursor(text, (int, str))


def test_a_full_page_names_the_next() -> None:
    rows, following = paging.split([3, 2, 1], 2, key=lambda row: [row])
    assert rows == [3, 2]
    assert following is not None
    assert paging.decode_cursor(following, (int,)) == [2]


def test_the_last_page_names_none() -> None:
    assert paging.split([3, 2], 2, key=lambda row: [row]) == ([3, 2], None)
    assert paging.split([], 2, key=lambda row: [row]) == ([], None)


def test_a_page_is_results_and_next() -> None:
    assert paging.page([1], None) == {"results": [1], "next": None}
