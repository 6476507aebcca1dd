# SPDX-License-Identifier: Apache-2.0
"""`muster image-based create config-image`: the ISO that turns the copy of a seed into a site's cluster."""

from __future__ import annotations

from typing import Final

import click

from muster.cli import options, site
from muster.cli.medium import media_options, read_text, tell
from muster.config.resolve_image_based import resolve_configuration
from muster.image.image_based.media import CONFIG_ISO, build_config_media
from muster.image.making import digest_inputs, start_making
from muster.image.manner import Manner

CONFIG_FILES: Final = ("install-config.yaml", "image-based-config.yaml")
CONFIG_HINT: Final = "a configuration ISO needs both; `muster image-based create config-template` writes one"


@click.command(
    "config-image",
    epilog=options.examples(
        "muster image-based create config-image --dir mysite",
        "muster image-based create config-image --dir copy --secrets mysite    # the same cluster again",
    ),
)
@options.site_options
@media_options
def config_image(directory: str | None, log_level: str | None, output_format: str, *, manner: Manner) -> None:
    """Make the ISO that turns the copy of a seed into the cluster of this site.

    Writes imagebasedconfig.iso, auth/kubeconfig and auth/kubeadmin-password. Keys and password are made once
    and kept in .muster_state.json: the same files give the same bytes again, and a kubeconfig stays valid.
    """
    run = options.begin(directory, log_level, output_format)
    site.require_files(run, CONFIG_FILES, CONFIG_HINT)
    found = site.load_valid_site(run)
    plan = resolve_configuration(found)
    with start_making(run.directory, CONFIG_ISO, manner) as making:
        secrets = making.settle_secrets(plan.signer_key)
        options_given = {"--sign-key": read_text(manner.sign_key), "--sha256": str(manner.with_sha256)}
        if not making.is_current(digest_inputs(found, secrets, options_given)):
            files = build_config_media(plan, secrets, manner)
            making.begin(secrets, tuple(files))
            for name, data in files.items():
                making.save(name, data)
            making.finish()
        tell(run, making, ["next: attach it to the machine that has the seed on its disk"])
