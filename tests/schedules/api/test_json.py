"""Bodies in and out: strict JSON of any content type, bounded, and ASCII on the way out."""

import io
import json
from typing import Any

import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.urls import path
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.request import Request
from rest_framework.response import Response

from schedules.api.json import StrictJSONParser
from schedules.sessions.errors import Refusal
from tests.conftest import Client

LIMIT = settings.DATA_UPLOAD_MAX_MEMORY_SIZE


@api_view(["POST"])
@authentication_classes([])
@permission_classes([])
def echo(request: Request) -> Response:
    return Response(request.data)


@api_view(["POST"])
@authentication_classes([])
@permission_classes([])
def nothing(request: Request) -> Response:
    return Response(None, status=int(request.query_params["status"]))


urlpatterns = [path("echo", echo), path("nothing", nothing)]
pytestmark = pytest.mark.urls(__name__)


def post(body: bytes, content_type: str = "application/json", **headers: Any) -> HttpResponse:
    answer: HttpResponse = Client().raw("POST", "/echo", body, content_type, **headers)
    return answer


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x" * 300, "é"],
)
def test_any_content_type_is_read_as_json(content_type: str) -> None:
    answer = post(b'{"a": [1, 2.0, null]}', content_type)
    assert (answer.status_code, answer.content) == (200, b'{"a":[1,2.0,null]}')


def test_an_empty_body_is_an_empty_object() -> None:
    assert post(b"").content == b"{}"


@pytest.mark.parametrize("accept", ["text/html", "image/png", "nonsense", "application/json; version=9"])
def test_the_answer_is_json_whatever_is_accepted(accept: str) -> None:
    answer = post(b"{}", HTTP_ACCEPT=accept)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")


def test_the_format_parameter_changes_nothing() -> None:
    assert Client().post("/echo?format=xml", {}).status_code == 200


def test_strings_come_back_as_they_went_in_and_in_ascii() -> None:
    body = b'{"a":"\\u0000\\ud800\\u00e9","b":60,"c":60.0}'
    assert post(body).content == body


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[" * 100_000,
        b'{"a":' * 65 + b"1" + b"}" * 65,
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":1e400}',
        b'{"a":' + b"1" * 401 + b"}",
        b'{"a":1,"a":1}',
        b"\xff",
        b"\xef\xbb\xbf{}",
        b" ",
        b"a=1&b=2",
    ],
)
def test_what_is_no_strict_json_is_refused_in_plain_words(body: bytes) -> None:
    answer = post(body)
    assert answer.status_code == 400
    error = json.loads(answer.content)
    assert error["code"] == "invalid_json"
    assert "Traceback" not in error["message"]


def test_a_body_at_the_limit_is_read() -> None:
    assert post(b'"' + b"a" * (LIMIT - 2) + b'"').status_code == 200


@pytest.mark.parametrize("content_type", ["application/json", "application/x-www-form-urlencoded"])
def test_a_body_over_the_limit_is_too_large(content_type: str) -> None:
    answer = post(b'"' + b"a" * (LIMIT - 1) + b'"', content_type)
    assert (answer.status_code, json.loads(answer.content)["code"]) == (413, "too_large")


def test_a_declared_length_over_the_limit_is_refused_unread() -> None:
    stream = io.BytesIO(b"{}")
    request = WSGIRequest({"REQUEST_METHOD": "POST", "CONTENT_LENGTH": "50000000", "wsgi.input": stream})
    with pytest.raises(Refusal) as refused:
        StrictJSONParser().parse(stream, "application/json", {"request": request})
    assert refused.value.code == "too_large"
    assert stream.tell() == 0


def test_a_body_that_is_longer_than_declared_is_not_read_past_the_limit() -> None:
    stream = io.BytesIO(b"1" * (LIMIT * 2))
    with pytest.raises(Refusal) as refused:
        StrictJSONParser().parse(stream)
    assert refused.value.code == "too_large"
    assert stream.tell() == LIMIT + 1


def test_only_an_answer_without_content_is_empty() -> None:
    assert Client().post("/nothing?status=204").content == b""
    assert Client().post("/nothing?status=200").content == b"null"
