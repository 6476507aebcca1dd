# SPDX-License-Identifier: Apache-2.0
"""No secret is ever shown."""

from __future__ import annotations

import pytest

from muster.redact import masked_lines, redact, redact_arguments

SECRET = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f'pullSecret: \'{{"auths": {{"r.example.com": {{"auth": "{SECRET}"}}}}}}\'',
        f"  password: {SECRET}",
        f"- password: '{SECRET}'",
        f'"password": "{SECRET}",',
        f"httpProxy: http://user:{SECRET}@proxy.example.com:3128",
        f"pullSecret: |\n  {{\n    {SECRET}\n  }}\nnext: 1",
        f"stringData:\n  .dockerconfigjson: |\n    {SECRET}\n",
        f"key: |\n  -----BEGIN RSA PRIVATE KEY-----\n  {SECRET}\n  -----END RSA PRIVATE KEY-----\n",
        f"bmc: {{username: admin, password: {SECRET}}}",
        f"pullSecret:\n\n  {SECRET}\n",
        f"identitytoken: {SECRET}",
        f"kind: Secret\nstringData:\n  config: {SECRET}\n",
        f"-- - my.token-of.mine' : {SECRET}",
        f"  --psk: {SECRET}",
        f"proxy: {SECRET}@{SECRET}/@x.example.com proxy:proxy:{SECRET}@y.example.com",
        f"noproxy: http://h,proxy:x:{SECRET}@h",
    ],
)
def test_lines_with_secrets_are_masked(text: str) -> None:
    masked = masked_lines(text)
    shown = "\n".join(masked.get(number, line) for number, line in enumerate(text.split("\n"), start=1))
    assert SECRET not in shown


def test_other_lines_are_not_touched() -> None:
    text = "pullSecret: x\nsshKey: ssh-rsa AAAA\npullSecretRef:\n  name: n\nmirrors:\n- a.example.com\n"
    assert set(masked_lines(text)) == {1}


def test_arguments() -> None:
    shown = redact_arguments(["gather", "--key", SECRET, f"--password={SECRET}", "--dir", "x"])
    assert shown == ["gather", "--key", "••••", "--password=••••", "--dir", "x"]


def test_messages() -> None:
    assert SECRET not in redact(f"cannot reach https://me:{SECRET}@r.example.com/v2")
    assert redact("plain words: 42") == "plain words: 42"


def test_the_login_of_a_proxy_ends_at_the_last_at_of_a_word() -> None:
    assert redact("proxy: a/b@c@host proxy=x@y proxy:proxy:@h") == "proxy: ••••@host proxy=x@y ••••@h"
    assert redact("proxy:x proxy: http://a/b:c@d@e,proxy:f g@h") == "proxy:x proxy: http://••••@e,proxy:f g@h"


@pytest.mark.parametrize("word", ["token", "-", "proxy:", "proxy:a://b:", 'auth:"', "a://", "+"])
def test_the_time_grows_with_the_length_of_a_text_alone(word: str) -> None:
    """With 1 MiB, quadratic time is ten minutes and more; "-----token" was cubic."""
    text = word * ((1 << 20) // len(word))
    assert redact(text).startswith(word[:4])
    assert masked_lines(text).keys() <= {1}
    half = len(text) // 2
    assert masked_lines("-" * half + text[:half]).keys() <= {1}
