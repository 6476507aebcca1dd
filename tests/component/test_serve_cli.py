# SPDX-License-Identifier: Apache-2.0
"""`muster serve` as people start it: settings, what it says, how it ends, and what it says when it cannot."""

from __future__ import annotations

import json
import re
import signal
import socket
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests import media
from tests.certificates import site_certificate
from tests.component.muster import run
from tests.component.release.served import make_signing_pair
from tests.component.service.whole import PULL_SECRET, small_release
from tests.component.serving import API, PATIENCE_S, command, serve


def test_it_tells_where_it_is_and_how_to_log_in_and_ends_by_sigterm(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve("--data", data) as served:
        assert re.fullmatch(r"https://127\.0\.0\.1:\d+", served.told["url"])
        assert served.told["mediaUrl"] == served.told["url"]
        assert served.told["certificate"] == str(data / "keys" / "authority.pem")
        assert re.fullmatch(r"([0-9A-F]{2}:){31}[0-9A-F]{2}", served.told["fingerprint"])
        assert served.ask("/ready")[0] == 200
        assert served.ask(f"{API}/clusters")[0] == 401
        token = served.log_in()
        assert served.ask(f"{API}/clusters", token=token) == (200, [])
        status, err = served.end(signal.SIGTERM)
    assert status == 0
    assert "no release" in err
    assert "no base image" in err
    assert "the service ended" in err
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert token not in err


def test_a_release_without_the_required_signature_is_not_served(tmp_path: Path) -> None:
    small_release(tmp_path)
    private, public = make_signing_pair(tmp_path)
    flags = ("--data", tmp_path / "data", "--release", tmp_path / "store", "--release-key", public)
    done = run("serve", "--listen", "127.0.0.1:0", *flags)
    assert done.status == 1
    assert "a signature is required, and none of the release" in done.err
    assert run("release", "sign", "--store", tmp_path / "store", "--key", private).status == 0
    with serve(*flags) as served:
        assert served.ask("/ready")[0] == 200


def test_data_in_a_directory_that_users_share_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    done = run("serve", "--listen", "127.0.0.1:0", "--data", shared)
    assert done.status == 1
    assert f"{shared} is a directory that several users share (mode 1777)" in done.err
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    assert list(shared.iterdir()) == []


@pytest.mark.parametrize("level", ["info", "fatal"])
def test_audit_records_are_on_stderr_once_at_every_log_level(tmp_path: Path, level: str) -> None:
    audit = tmp_path / "audit.log"
    with serve("--data", tmp_path / "data", "--log-level", level, "--audit-log", audit) as served:
        served.log_in()
        _, err = served.end()
    records = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert [each["event"] for each in records] == ["login"]
    assert [json.loads(line) for line in audit.read_text().splitlines()] == records
    assert ("the service ended" in err) == (level == "info")


def test_it_tells_the_same_to_people(tmp_path: Path) -> None:
    process = command("--listen", "127.0.0.1:0", "--data", tmp_path / "data")
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        process.send_signal(signal.SIGHUP)
        again = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 0
    assert [line.split("  ")[0] for line in lines] == ["serving at", "authority", "fingerprint", "login code"]
    assert re.search(r" [0-9A-Z]{5} [0-9A-Z]{5} \(once, until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\)$", lines[3])
    assert again == lines[3]


def test_a_code_that_was_used_is_followed_by_another_one_when_it_is_tried_again(tmp_path: Path) -> None:
    with serve("--data", tmp_path) as served:
        first = served.told["code"]
        served.log_in()
        status, body = served.ask(f"{API}/login", {"code": first})
        assert (status, body["message"]) == (401, "the password or code is wrong, or has expired")
        second = json.loads(served.line())["code"]
        assert second != first
        assert served.ask(f"{API}/login", {"code": second})[0] == 201


def test_sighup_shows_a_code_that_works(tmp_path: Path) -> None:
    with serve("--data", tmp_path) as served:
        served.log_in()
        served.process.send_signal(signal.SIGHUP)
        code = json.loads(served.line())["code"]
        assert served.ask(f"{API}/login", {"code": code})[0] == 201


def test_what_was_there_is_there_again(tmp_path: Path) -> None:
    with serve("--data", tmp_path) as served:
        token = served.log_in()
        made = served.ask(
            f"{API}/clusters",
            {"name": "alpha", "openshift_version": "v1.36.3", "pull_secret": PULL_SECRET},
            token,
        )
        assert made[0] == 201
        served.end(signal.SIGKILL)
    with serve("--data", tmp_path) as served:
        status, clusters = served.ask(f"{API}/clusters", token=token)
        assert (status, [each["name"] for each in clusters]) == (200, ["alpha"])


def test_a_password_or_its_hash_lets_people_in(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("tr0ub4dor and a horse\nwhat follows does not count\n")
    secret.chmod(0o600)
    with serve("--data", tmp_path / "data", "--password-file", secret) as served:
        assert served.ask(f"{API}/login", {"password": "tr0ub4dor and a horse"})[0] == 201
        assert served.ask(f"{API}/login", {"password": "wrong"})[0] == 401
        status, err = served.end()
    assert (status, "tr0ub4dor" in err, "read by everybody" in err) == (0, False, False)
    secret.write_text("$2b$04$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK\n")
    secret.chmod(0o644)
    with serve("--data", tmp_path / "data", "--password-file", secret) as served:
        assert "password" in served.ask(f"{API}/login")[1]["ways"]
        _, err = served.end()
    assert f"{secret} can be read by everybody; chmod 600 {secret}" in err


def test_flags_go_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    version = small_release(parts).version
    (tmp_path / "live.iso").write_bytes(media.image(media.MODERN))
    settings = tmp_path / "serve.toml"
    settings.write_text(
        'listen = "127.0.0.1:0"\nmedia-listen = "127.0.0.1:0"\nurl = "https://file.example.com"\n'
        'media-url = "http://file.example.com"\ndata = "/nowhere/at/all"\nname = ["a.example.com"]\n'
        f'release = "{parts / "store"}"\nbase-image = ["{tmp_path / "live.iso"}"]\n'
    )
    env = {
        "MUSTER_MEDIA_URL": "http://environment.example.com",
        "MUSTER_DATA": str(tmp_path / "not-here"),
        "MUSTER_CACHE": str(tmp_path / "cache"),
    }
    with serve("--settings", settings, "--data", tmp_path / "data", env=env) as served:
        assert served.told["url"] == "https://file.example.com"
        assert served.told["mediaUrl"] == "http://environment.example.com"
        assert served.told["certificate"] == str(tmp_path / "data" / "keys" / "authority.pem")
        _, err = served.end()
    assert "no release" not in err
    assert "no base image" not in err
    assert version.startswith("v1.")
    assert not (tmp_path / "not-here").exists()


def test_clusters_are_of_releases_that_there_are(tmp_path: Path) -> None:
    version = small_release(tmp_path).version
    given = {"name": "alpha", "openshift_version": version.rpartition(".")[0], "pull_secret": PULL_SECRET}
    with serve("--data", tmp_path / "data", "--release", tmp_path / "store") as served:
        token = served.log_in()
        status, body = served.ask(f"{API}/clusters", given, token)
        assert (status, body["openshift_version"]) == (201, version)
        status, body = served.ask(f"{API}/clusters", given | {"openshift_version": "4.22"}, token)
        assert (status, f"there is no release 4.22; there are: {version}" in body["reason"]) == (400, True)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('listn = ":1"', "there is no setting listn; did you mean listen?", "there are: data, database,"),
        ("listen = 8090", "listen is not a text", 'write listen = "…", in quotes'),
        ("name = [1]", "name is not a list of texts", 'write name = ["…", "…"]'),
        ("[serve]\nlisten = 1", "there is no setting serve", "there are: "),
        ('settings = "x"', "there is no setting settings", "there are: "),
        ("listen = \n", "is not TOML: Invalid value (at line 1, column 10)", "write lines such as"),
        (b"\xff\xfe", "is not TOML: ", "write lines such as"),
    ],
)
def test_a_bad_settings_file(tmp_path: Path, text: str | bytes, message: str, hint: str) -> None:
    path = tmp_path / "serve.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    done = run("serve", "--settings", path, "--data", tmp_path / "data")
    assert done.status == 1
    assert str(path) in done.err
    assert message in done.err
    assert f"hint: {hint}" in done.err
    assert not (tmp_path / "data").exists()


def test_a_settings_file_that_is_not_there(tmp_path: Path) -> None:
    done = run("serve", "--settings", tmp_path / "none.toml")
    assert (done.status, "no such file or directory" in done.err) == (1, True)


@pytest.mark.parametrize("flag", ["--listen", "--media-listen", "--redirect-listen"])
def test_a_port_that_is_taken(tmp_path: Path, flag: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("serve", "--data", tmp_path, "--listen", "127.0.0.1:0", flag, where)
    assert done.status == 1
    assert "address already in use" in done.err
    assert f"name another port with {flag}" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--listen", "somewhere"], "'somewhere' is no address to listen at"),
        (["--url", "muster.example.com"], "--url muster.example.com is no address of a service"),
        (["--url", "http://muster.example.com"], "is no address of a service"),
        (["--url", "https://[::1"], "is no address of a service"),
        (["--media-url", "ftp://muster.example.com"], "is no address of a service"),
        (["--name", "a b"], "'a b' is not a name that a server can have"),
        (["--database", "mysql://db.example.com/x"], "is no database that Muster can use"),
        (["--release", "nowhere"], "nowhere is not a content store"),
        (["--base-image", "nowhere.iso"], "nowhere.iso does not exist"),
        (["--password-file", "nowhere"], "cannot read nowhere"),
        (["--password-file", "/dev/null"], "/dev/null has no password in its first line"),
        (["--token-key", "/dev/null"], "is not an ECDSA key"),
        (["--disable-validation", "ntp-sync"], "there is no validation ntp-sync; did you mean ntp-synced"),
        (["--key", "/dev/null"], "--key is given without --certificate"),
        (["--certificate", "/dev/null"], "/dev/null is not a certificate in PEM"),
        (["--data", "/dev/null"], "/dev/null is not a directory"),
    ],
)
def test_what_cannot_be(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run("serve", "--data", tmp_path / "data", "--listen", "127.0.0.1:0", *arguments)
    assert done.status == 1
    assert message in done.err
    assert "hint: " in done.err
    assert not done.out


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    done = run("serve", "--data", "/proc/muster", "--listen", "127.0.0.1:0")
    assert (done.status, "cannot create /proc/muster" in done.err) == (1, True)


def test_two_services_do_not_share_a_directory(tmp_path: Path) -> None:
    with serve("--data", tmp_path) as served:
        done = run("serve", "--data", tmp_path, "--listen", "127.0.0.1:0")
        assert done.status == 1
        assert f"is in use by the service with process id {served.process.pid}" in done.err
        assert served.end()[0] == 0
    with serve("--data", tmp_path) as served:
        assert served.end()[0] == 0


def test_a_password_on_the_command_line_is_pointed_out_and_not_repeated(tmp_path: Path) -> None:
    url = "postgresql://muster:s3cr3t@127.0.0.1:1/muster"
    for given, env in ((["--database", url], {}), ([], {"MUSTER_DATABASE": url})):
        done = run("serve", "--data", tmp_path, "--listen", "127.0.0.1:0", *given, env=env)
        assert done.status == 1
        assert ("use MUSTER_DATABASE" in done.err) == bool(given)
        assert "s3cr3t" not in done.out + done.err


def test_keys_alone_are_what_several_services_need(tmp_path: Path) -> None:
    done = run("serve", "--only-keys", "--data", tmp_path)
    assert done.status == 0
    keys = {path.name: path.read_bytes() for path in (tmp_path / "keys").iterdir()}
    assert keys.keys() == {"authority.key", "authority.pem", "secrets.key", "tokens.pem"}
    with serve("--data", tmp_path) as served:
        assert served.ask("/health")[0] == 200
    assert {name: (tmp_path / "keys" / name).read_bytes() for name in keys} == keys


def test_a_certificate_of_the_site_is_shown_and_looked_at_again_by_sighup(tmp_path: Path) -> None:
    given = site_certificate(tmp_path, ("127.0.0.1",), datetime.now(UTC))
    settings = tmp_path / "serve.toml"
    settings.write_text(f'certificate = "{given.certificate}"\n')
    env = {"MUSTER_KEY": str(given.key)}
    with serve("--data", tmp_path / "data", "--settings", settings, env=env) as served:
        assert served.told["certificate"] == str(given.certificate)
        assert served.ask("/ready")[0] == 200, "with the site's authority as the only one that is trusted"
        given.certificate.write_text("garbage")
        served.process.send_signal(signal.SIGHUP)
        served.line()
        given = site_certificate(tmp_path, ("127.0.0.1",), datetime.now(UTC))
        served.process.send_signal(signal.SIGHUP)
        served.line()
        assert served.ask("/ready")[0] == 200, "with the new one"
        _, err = served.end()
    assert "the certificate stays as it was" in err
    assert "callers see the certificate" in err
    assert "is not for" not in err
    with serve(
        *("--data", tmp_path / "data", "--certificate", given.certificate, "--key", given.key),
        *("--name", "muster.example.com"),
    ) as served:
        _, err = served.end()
    assert f"{given.certificate} is not for muster.example.com: it is for 127.0.0.1" in err


def test_systemd_is_told_when_it_is_ready_and_when_it_ends(tmp_path: Path) -> None:
    place = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(place))
        heard.settimeout(PATIENCE_S)
        with serve("--data", tmp_path / "data", env={"NOTIFY_SOCKET": str(place)}) as served:
            assert heard.recv(100) == b"READY=1"
            served.end()
            assert heard.recv(100) == b"STOPPING=1"


def test_the_audit_log_is_a_file_of_json_lines_for_its_owner_alone(tmp_path: Path) -> None:
    audit, secret, viewer = tmp_path / "audit.log", tmp_path / "password", tmp_path / "viewer"
    secret.write_text("a good long passphrase\n")
    viewer.write_text("only here to look around\n")
    options = ("--password-file", secret, "--viewer-password-file", viewer, "--audit-log", audit)
    with serve("--data", tmp_path / "data", *options) as served:
        assert served.ask(f"{API}/login", {"password": "wrong"})[0] == 401
        assert served.ask(f"{API}/login", {"password": "a good long passphrase"})[0] == 201
        assert served.ask(f"{API}/login", {"password": "only here to look around"})[1]["persona"] == "watcher"
        _, err = served.end()
    records = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [each["event"] for each in records] == ["login-refused", "login", "login"]
    assert records[2]["actor"].startswith("watcher:")
    assert audit.stat().st_mode & 0o777 == 0o600
    assert all(line in err for line in audit.read_text().splitlines())


def test_a_short_password_stops_the_start(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("hello\n")
    done = run("serve", "--data", tmp_path, "--listen", "127.0.0.1:0", "--password-file", secret)
    assert (done.status, "has 5 characters; 12 are needed at least" in done.err) == (1, True)


def test_a_lost_key_stops_the_start_unless_its_secrets_are_discarded(tmp_path: Path) -> None:
    with serve("--data", tmp_path) as served:
        params = {"name": "alpha", "pull_secret": PULL_SECRET}
        assert served.ask(f"{API}/infra-envs", params, served.log_in())[0] == 201
        served.end()
    (tmp_path / "keys/secrets.key").unlink()
    done = run("serve", "--data", tmp_path, "--listen", "127.0.0.1:0")
    assert done.status == 1
    assert "keys/secrets.key is missing" in done.err
    assert "pull secret of infra-env alpha" in done.err
    assert "--discard-secrets" in done.err
    with serve("--data", tmp_path, "--discard-secrets") as served:
        served.end()
    with serve("--data", tmp_path) as served:
        assert served.end()[0] == 0


def test_an_error_about_its_directory_names_its_own_flag() -> None:
    done = run("serve", "--listen", "127.0.0.1:0", "--data", Path("/sys/muster/data"))
    assert done.status == 1
    assert "/sys/muster" in done.err
    assert "--dir" not in done.err
