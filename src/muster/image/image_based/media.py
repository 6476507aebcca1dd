# SPDX-License-Identifier: Apache-2.0
"""Plan and secrets → the files that a site's directory gets: the configuration ISO and the credentials."""

from __future__ import annotations

from typing import Final

from muster.image.image_based.config import LABEL, build_configuration
from muster.image.iso.writer import render_iso
from muster.image.manner import PLAIN, Manner
from muster.image.papers import Bill, render_papers
from muster.image.product import digests_of
from muster.image.secrets import SiteSecrets
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
    properties = {"cluster": f"{plan.name}.{plan.base_domain}", "clusterID": secrets.cluster_id}
    bill = Bill(created=int(secrets.created.timestamp()), properties=properties)
    return {
        CONFIG_ISO: iso,
        **dict(render_papers(CONFIG_ISO, digests_of(iso), bill, manner)),
        KUBECONFIG: made.kubeconfig.encode(),
        PASSWORD: made.kubeadmin_password.encode(),
    }
