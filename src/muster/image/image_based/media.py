# SPDX-License-Identifier: Apache-2.0
"""Plan and secrets → the files that a site's directory gets: the configuration ISO and the credentials."""

from __future__ import annotations

from typing import Final

from muster.image.image_based.config import LABEL, build_configuration
from muster.image.iso.writer import render_iso
from muster.image.manner import PLAIN, Manner
from muster.image.product import Bill, Papers, digests_of
from muster.image.secrets import SiteSecrets
from muster.image.signature import load_signing_key
from muster.model.image_based_plan import ConfigurationPlan

CONFIG_ISO: Final = "imagebasedconfig.iso"
KUBECONFIG: Final = "auth/kubeconfig"
PASSWORD: Final = "auth/kubeadmin-password"  # noqa: S105 - the name of the file


def build_config_media(
    plan: ConfigurationPlan, secrets: SiteSecrets, manner: Manner = PLAIN
) -> dict[str, bytes]:
    """The files by name; all of them hold secrets. The same plan and secrets give the same bytes."""
    made = build_configuration(plan, secrets)
    iso = render_iso(files=made.files, label=LABEL, when=secrets.created)
    digest, sha256 = digests_of(iso)
    key = load_signing_key(manner.sign_key) if manner.sign_key else None
    properties = {"cluster": f"{plan.name}.{plan.base_domain}", "clusterID": secrets.cluster_id}
    papers = Papers(Bill((), int(secrets.created.timestamp()), properties), key)
    return {
        CONFIG_ISO: iso,
        **dict(papers.render(CONFIG_ISO, digest, sha256)),
        **({f"{CONFIG_ISO}.sha256": f"{sha256}  {CONFIG_ISO}\n".encode()} if manner.with_sha256 else {}),
        KUBECONFIG: made.kubeconfig.encode(),
        PASSWORD: made.kubeadmin_password.encode(),
    }
