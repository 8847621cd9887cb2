"""The application as the server calls it: no client holds a worker, whatever it sends or leaves unread."""

import asyncio
from typing import Any

import pytest

from config import asgi
from tests.asgi_calls import Call

pytestmark = pytest.mark.usefixtures("store")

MANY = 2 * asgi.WORKERS
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def beside(slow: list[Call]) -> Call:
    """The answer to a plain call while others are still at theirs."""

    async def main() -> Call:
        others = [asyncio.create_task(call.of(asgi.application)) for call in slow]
        await asyncio.sleep(0)  # each has begun
        try:
            return await asyncio.wait_for(Call("GET", "/tools").of(asgi.application), 10)
        finally:
            for call, other in zip(slow, others, strict=True):
                if call.reads is None:
                    other.cancel()
                else:
                    call.reads.set()
            await asyncio.gather(*others, return_exceptions=True)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/sessions", {"Transfer-Encoding": "chunked"}),
        ("/sessions", {"Content-Length": "100"}),
        ("/admin/login/", {"Content-Length": "100", **FORM}),
    ],
)
def test_bodies_that_do_not_come_hold_no_worker(path: str, headers: dict[str, str]) -> None:
    slow = [Call("POST", path, headers, [b"a"], ends=False) for _ in range(MANY)]
    assert beside(slow).status == 401
    assert not any(call.sent for call in slow)


def test_answers_that_nobody_reads_hold_no_worker() -> None:
    path = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"
    slow = [Call("GET", path, reads=asyncio.Event()) for _ in range(MANY)]
    assert beside(slow).status == 401
    assert {call.status for call in slow} == {200}


def test_a_body_in_parts_reaches_its_view() -> None:
    call = Call("POST", "/admin/login/", {"Transfer-Encoding": "chunked", **FORM}, [b"username=a&", b"password=b"])
    asyncio.run(call.of(asgi.application))
    assert call.status == 403  # it was read as a form, which lacks the CSRF token


def ask(path: str, **headers: str) -> Any:
    return asyncio.run(Call("GET", path, headers).of(asgi.application))


@pytest.mark.parametrize("name", ["sessionid", "csrftoken", "other"])
def test_a_cookie_that_hides_a_nul_is_nobodys(name: str) -> None:
    cookie = f'a=b; {name}="abcdefgh\\000"'
    answer = ask("/sessions", Cookie=cookie)
    assert (answer.status, answer.body["code"]) == (401, "unauthenticated")
    assert ask("/admin/", Cookie=cookie).status == 302
