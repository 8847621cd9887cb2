"""What ``EMAIL_URL`` may say."""

import pytest
from environ import ImproperlyConfigured

from config import settings

SMTP = "django.core.mail.backends.smtp.EmailBackend"


def test_a_server_s_url_gives_django_s_settings() -> None:
    read = settings.mail("smtp+tls://ada%40example.org:p%3Ass@mail.example.org:2525/?timeout=3")
    assert read == {
        "EMAIL_BACKEND": SMTP,
        "EMAIL_USE_TLS": True,
        "EMAIL_HOST": "mail.example.org",
        "EMAIL_PORT": 2525,
        "EMAIL_HOST_USER": "ada@example.org",
        "EMAIL_HOST_PASSWORD": "p:ss",
        "EMAIL_FILE_PATH": "",
    }


@pytest.mark.parametrize(("scheme", "port"), [("smtp", 25), ("smtp+tls", 587), ("smtps", 587), ("smtp+ssl", 465)])
def test_a_url_without_a_port_means_the_usual_one(scheme: str, port: int) -> None:
    assert settings.mail(f"{scheme}://mail.example.org")["EMAIL_PORT"] == port


def test_without_a_server_no_mail_goes_out_and_nothing_fails() -> None:
    assert settings.mail("dummymail://")["EMAIL_BACKEND"] == "django.core.mail.backends.dummy.EmailBackend"


@pytest.mark.parametrize("url", ["nonsense", "http://mail.example.org", "smtp://mail.example.org:port"])
def test_a_url_of_no_mail_server_is_refused(url: str) -> None:
    with pytest.raises((ValueError, ImproperlyConfigured)):
        settings.mail(url)
