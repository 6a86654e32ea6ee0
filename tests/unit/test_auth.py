"""Who may see pages, and what must not be started."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from django.conf import settings
from django.test import Client, override_settings

from dradash.conf import Conf, from_environ
from dradash.problems import NOT_ALLOWED, NOT_SIGNED_IN, Kind, Problem, type_of
from dradash.reader import current
from dradash.web.auth import Asker, user_of
from dradash.web.checks import problems
from tests.scene import Scene

TOKEN = "a-token-of-twenty-four-c"  # noqa: S105 - opens nothing but these tests


def conf(**env: str) -> Conf:
    return from_environ({f"DRADASH_{k.upper()}": v for k, v in env.items()})


TOKEN_CONF = conf(auth="token", auth_token=TOKEN)
PROXY_CONF = conf(auth="proxy", auth_proxy_from="10.0.0.0/8,fd00::/8")


@pytest.fixture(autouse=True)
def _scene() -> Iterator[None]:
    scene = Scene()
    scene.look()
    current.use(scene.web)
    yield
    current.use(None)


@pytest.fixture
def client() -> Client:
    return Client(enforce_csrf_checks=False)


@pytest.mark.parametrize(
    ("env", "found"),
    [
        ({}, []),
        ({"host": "0.0.0.0"}, ["dradash.E001"]),
        ({"host": "192.168.1.1"}, ["dradash.E001"]),
        ({"host": "some.name"}, ["dradash.E001"]),
        ({"host": "::1"}, []),
        ({"host": "localhost"}, []),
        ({"auth": "token"}, ["dradash.E002", "dradash.W001"]),
        ({"auth": "token", "auth_token": "short", "secret_key": "k"}, ["dradash.E002"]),
        ({"auth": "token", "auth_token": TOKEN, "secret_key": "k", "host": "0.0.0.0"}, []),
        ({"auth": "proxy", "host": "0.0.0.0"}, []),
        ({"auth": "proxy", "auth_proxy_from": "proxy.example"}, ["dradash.E003"]),
    ],
)
def test_unsafe_settings_are_refused(env: dict[str, str], found: list[str]) -> None:
    assert [p.id for p in problems(conf(**env))] == found


def test_without_a_session_a_page_asks_to_sign_in_and_comes_back(client: Client) -> None:
    with override_settings(DRADASH=TOKEN_CONF):
        response = client.get("/pods?ns=a&q=b")
        assert response.status_code == 302
        assert response.headers["Location"] == "/sign-in?next=%2Fpods%3Fns%3Da%26q%3Db"
        form = client.get(response.headers["Location"])
        assert "csrfmiddlewaretoken" in form.content.decode()
        signed_in = client.post("/sign-in", {"token": TOKEN, "next": "/pods?ns=a&q=b"})
        assert signed_in.headers["Location"] == "/pods?ns=a&q=b"
        assert client.get("/pods").status_code == 200
        assert client.post("/sign-out").status_code == 302
        assert client.get("/pods").status_code == 302


@pytest.mark.parametrize("path", ["/metrics", "/api/v1/pods"])
def test_a_program_without_a_token_is_told_so_and_not_sent_to_a_form(client: Client, path: str) -> None:
    with override_settings(DRADASH=TOKEN_CONF):
        response = client.get(path)
        assert response.status_code == 401
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="dradash"'
        assert response.headers["Content-Type"] == "application/problem+json"


def test_a_wrong_token_is_refused(client: Client) -> None:
    with override_settings(DRADASH=TOKEN_CONF):
        response = client.post("/sign-in", {"token": "wrong"})
        assert response.status_code == 401
        assert "wrong" not in response.content.decode().split("<main")[1].split('id="wrong"')[0].replace(
            'aria-describedby="wrong"', ""
        )
        assert client.get("/").status_code == 302


def test_signing_in_needs_the_forms_secret() -> None:
    with override_settings(DRADASH=TOKEN_CONF):
        assert Client(enforce_csrf_checks=True).post("/sign-in", {"token": TOKEN}).status_code == 403


@pytest.mark.parametrize("after", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/sign-out"])
def test_nobody_is_sent_elsewhere_after_signing_in(client: Client, after: str) -> None:
    with override_settings(DRADASH=TOKEN_CONF):
        assert client.post("/sign-in", {"token": TOKEN, "next": after}).headers["Location"] == "/"


def test_another_token_ends_the_sessions_of_the_one_before(client: Client) -> None:
    with override_settings(DRADASH=TOKEN_CONF):
        client.post("/sign-in", {"token": TOKEN})
        assert client.get("/").status_code == 200
    with override_settings(DRADASH=conf(auth="token", auth_token=TOKEN + "-new")):
        assert client.get("/").status_code == 302


def test_the_session_cookie_holds_no_token_and_is_closed_to_scripts(client: Client) -> None:
    with override_settings(DRADASH=TOKEN_CONF):
        cookie = client.post("/sign-in", {"token": TOKEN}).cookies[settings.SESSION_COOKIE_NAME]
    assert TOKEN not in cookie.value
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_a_bearer_token_is_enough_for_a_program(client: Client) -> None:
    with override_settings(DRADASH=TOKEN_CONF):
        assert client.get("/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        refused = client.get("/", headers={"Authorization": "Bearer wrong"})
        assert refused.status_code == 401
        assert refused.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("peer", "user", "seen"),
    [
        ("10.1.2.3", "alice", "alice"),
        ("::ffff:10.1.2.3", "alice", "alice"),
        ("fd00::1", "alice", "alice"),
        ("10.1.2.3", "", None),
        ("10.1.2.3", "  ", None),
        ("127.0.0.1", "mallory", None),
        ("", "mallory", None),
        ("not an address", "mallory", None),
    ],
)
def test_a_proxys_header_counts_only_from_the_proxy(peer: str, user: str, seen: str | None) -> None:
    assert user_of(PROXY_CONF, Asker({"x-forwarded-user": user}, peer, {})) == seen


def test_who_is_not_named_by_the_proxy_is_told_why(client: Client) -> None:
    with override_settings(DRADASH=PROXY_CONF):
        response = client.get("/", headers={"X-Forwarded-User": "mallory"})
        assert response.status_code == 403
        assert "X-Forwarded-User" in response.content.decode()
        assert client.get("/", headers={"X-Forwarded-User": "alice"}, REMOTE_ADDR="10.0.0.1").status_code == 200


@pytest.mark.parametrize(
    ("auth", "kind", "challenge"),
    [(TOKEN_CONF, NOT_SIGNED_IN, 'Bearer realm="dradash"'), (PROXY_CONF, NOT_ALLOWED, None)],
)
def test_a_program_is_refused_with_a_problem_that_the_api_documents(
    client: Client, auth: Conf, kind: Kind, challenge: str | None
) -> None:
    with override_settings(DRADASH=auth):
        refused = client.get("/api/v1/pods")
    assert refused.status_code == kind.status
    assert refused.headers.get("WWW-Authenticate") == challenge
    problem = msgspec.json.decode(refused.content, type=Problem, strict=True)
    assert (problem.type, problem.title, problem.status) == (type_of(kind), kind.title, kind.status)


def test_a_browser_that_opens_the_page_of_the_api_is_asked_to_sign_in_and_a_program_is_not(client: Client) -> None:
    browser = "text/html,application/xhtml+xml,*/*;q=0.8"
    with override_settings(DRADASH=TOKEN_CONF):
        asked = client.get("/api/v1/", headers={"Accept": browser})
        assert asked.status_code == 302
        assert asked.headers["Location"] == "/sign-in?next=%2Fapi%2Fv1%2F"
        for path, accept in (
            ("/api/v1/", "*/*"),
            ("/api/v1/", "application/json"),
            ("/api/v1/", "text/html;q=0, */*"),
            ("/api/v1/pods", browser),
            ("/api/v1/openapi.json", browser),
        ):
            refused = client.get(path, headers={"Accept": accept})
            assert refused.status_code == 401, (path, accept)
            assert refused.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("auth", [TOKEN_CONF, PROXY_CONF])
def test_health_and_style_are_open(client: Client, auth: Conf) -> None:
    with override_settings(DRADASH=auth):
        assert client.get("/healthz").status_code == 200
        assert client.get("/static/dradash.css").status_code == 200
