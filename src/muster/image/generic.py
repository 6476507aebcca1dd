# SPDX-License-Identifier: Apache-2.0
"""Media that know no site: their hosts wait for a configuration medium, or for a person."""

from __future__ import annotations

from typing import Final

from muster.config.derive import Counts
from muster.config.resolve import registries_of, resolve_hosts, trust_bundle_of
from muster.frozen import dataclass
from muster.image.coreos.architecture import find_architecture
from muster.image.coreos.customize import Customization
from muster.image.ignition.merge import merge_given
from muster.image.ignition.unconfigured import Generic, unconfigured_config
from muster.image.iso.volume import Volume
from muster.image.kernel import edit_arguments
from muster.model.ignition import render_tree, tree_of
from muster.model.release import RPM_ARCHITECTURES
from muster.model.site import Site

IGNITION_FILE: Final = "unconfigured-agent.ign"


@dataclass(frozen=True)
class GenericRelease:
    """The release that hosts of any site install."""

    image: str = ""
    """Empty when it is not known yet."""
    key: str = ""
    """The public key (PEM) that its signature is checked with; empty when no signature is required."""


NO_RELEASE: Final = GenericRelease()


def generic_of(site: Site, release: GenericRelease = NO_RELEASE) -> Generic:
    """What a directory says that holds for hosts of any site: credentials, mirrors, release, networks."""
    manifests, infra = site.manifests, site.infra_env_spec
    found = manifests.pull_secret.find_logins() if manifests and manifests.pull_secret else None
    logins = found[1] if found else None
    image_set = manifests.cluster_image_set if manifests else None
    named = (
        ((image_set.node.source.name.rpartition("/")[2], image_set.node.source.text),) if image_set else ()
    )
    return Generic(
        ssh_key=(infra.ssh_authorized_key or "") if infra else "",
        pull_secret=logins.reveal() if logins else "",
        manifests=named,
        hosts=resolve_hosts(site, Counts(0, 0, 0)),
        registries=registries_of(site),
        trust_bundle=trust_bundle_of(site),
        ntp_sources=tuple(infra.additional_ntp_sources) if infra else (),
        release_image=release.image,
        release_key=release.key,
    )


def generic_ignition(site: Site, override: str, release: GenericRelease = NO_RELEASE) -> bytes:
    """The Ignition config of a generic medium."""
    infra = site.infra_env_spec
    written = infra.ignition_config_override if infra else None
    tree, _ = merge_given(tree_of(unconfigured_config(generic_of(site, release))), written, override)
    return render_tree(tree)


def generic_customization(site: Site, override: str, release: GenericRelease = NO_RELEASE) -> Customization:
    """What a live image is given to become a generic medium."""
    infra = site.infra_env_spec
    given = infra.kernel_arguments if infra else ()
    kernel = edit_arguments((str(each.operation or ""), each.argument or "") for each in given)
    return Customization(
        ignition=generic_ignition(site, override, release),
        kargs_append=kernel.append,
        kargs_delete=kernel.delete,
        kargs_replace=kernel.replace,
    )


def generic_image_name(volume: Volume) -> str:
    """The file name of a generic ISO."""
    return f"agent-unconfigured.{find_architecture(volume) or RPM_ARCHITECTURES['amd64']}.iso"
