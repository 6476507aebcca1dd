# SPDX-License-Identifier: Apache-2.0
"""What the parts of the service ask of each other, answered from what the engine knows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from muster.frozen import dataclass
from muster.model.meeting import Meeting
from muster.model.wire.infra_env import HostStaticNetworkConfig
from muster.service.api.table.route import PREFIX
from muster.service.auth.credentials import link_of
from muster.service.auth.host_keys import Challenges
from muster.service.auth.personas import Grant, Persona, Scope, Standing
from muster.service.auth.secrets import Place, Safe
from muster.service.auth.tokens import Tokens
from muster.service.decisions.enrolment import epoch_of_host
from muster.service.derive.roles import CONTROL_PLANE, effective_role
from muster.service.engine import Engine
from muster.service.media.boot import boot_script, redirect_script
from muster.service.media.compose import Composer
from muster.service.media.desk import Offer
from muster.service.media.discovery import discovery_ignition, minimal_initrd, static_network_archive
from muster.service.media.network import read_networks
from muster.service.media.order import Kind, MediumOrder
from muster.service.media.signing import VALID_FOR, Signer
from muster.service.media.signing import Place as MediaPlace
from muster.service.refusals import NotFound
from muster.service.state import InfraEnv
from muster.service.validations.requirements import product_of

AGENT_TOKEN_LASTS: Final = timedelta(days=30)
"""How long hosts can register that boot a medium, and how long a host may take to be installed."""


@dataclass(frozen=True)
class Addresses:
    """Where the service can be reached from outside."""

    service: str
    media: str
    authority: Callable[[], str]
    """PEM of who signed the certificate that callers see now."""


class SealedVault:
    """Seals with the keys of a folder."""

    def __init__(self, safe: Safe) -> None:
        self._safe = safe

    def seal(self, subject: str, field: str, text: str) -> str:
        return self._safe.seal(text, Place(subject, field))

    def open(self, subject: str, field: str, sealed: str) -> str:
        return self._safe.open(sealed, Place(subject, field))


class HostTies:
    """Where hosts belong, for those who judge tokens."""

    def __init__(
        self, engine: Engine, meeting: Meeting | None = None, *, admits_keyless: bool = False
    ) -> None:
        self._engine, self._meeting = engine, meeting
        self.admits_keyless = admits_keyless

    def cluster_of(self, infra_env_id: str, host_id: str) -> str | None:
        """The cluster of a host; one that is not known would be in that of the infra-env, and is told so.

        Where hosts meet for one cluster they belong to it before it is made.
        """
        try:
            if self._engine.find_host(host_id) is None:
                found = self._engine.infra_env(infra_env_id).cluster_id
            else:
                found = self._engine.host(host_id, infra_env_id).cluster_id
        except NotFound:
            return None
        if found is None and self._meeting is not None and infra_env_id == self._meeting.infra_env_id:
            return self._meeting.cluster_id
        return found

    def clusters_of(self, infra_env_id: str) -> Collection[str]:
        try:
            hosts, own = self._engine.hosts_of(infra_env_id), self._engine.infra_env(infra_env_id)
        except NotFound:
            return ()
        return {each for each in (own.cluster_id, *(host.cluster_id for host in hosts)) if each}

    def standing_of(self, infra_env_id: str | None, host_id: str) -> Standing | None:
        host = self._engine.find_host(host_id)
        if host is None or infra_env_id not in (None, host.infra_env_id):
            return None
        return Standing(
            status=host.status,
            is_control_plane=effective_role(host) in CONTROL_PLANE,
            has_key=bool(host.public_key),
        )

    def status_of(self, cluster_id: str) -> str:
        try:
            return self._engine.cluster(cluster_id).status
        except NotFound:
            return ""

    def release_of(self, cluster_id: str) -> str:
        try:
            return product_of(self._engine.cluster(cluster_id).openshift_version)
        except NotFound:
            return ""

    def enrolment_of(self, infra_env_id: str, host_id: str) -> int:
        try:
            return epoch_of_host(self._engine.host(host_id, infra_env_id))
        except NotFound:
            return -1

    def epoch_of(self, infra_env_id: str) -> int:
        try:
            return epoch_of(self._engine.infra_env(infra_env_id))
        except NotFound:
            return -1


@dataclass(frozen=True)
class Seals:
    """What signs and hides."""

    signer: Signer
    tokens: Tokens
    vault: SealedVault
    clock: Callable[[], datetime]


class EngineMedia:
    """Media of the infra-envs that the engine knows."""

    def __init__(self, engine: Engine, composer: Composer, seals: Seals, addresses: Addresses) -> None:
        self._clock = seals.clock
        self._engine, self.composer, self._addresses = engine, composer, addresses
        self._signer, self._tokens, self._vault = seals.signer, seals.tokens, seals.vault

    def find(self, infra_env_id: str) -> Offer | None:
        """An infra-env, for the media server."""
        try:
            infra_env = self._engine.infra_env(infra_env_id)
        except NotFound:
            return None
        return Offer(self.order_of(infra_env), infra_env.signing_key)

    def order_of(self, infra_env: InfraEnv) -> MediumOrder:
        """What the media of an infra-env carry. The token is the same until the infra-env changes."""
        secret = infra_env.pull_secret
        return MediumOrder(
            infra_env_id=infra_env.id,
            name=infra_env.name,
            service_url=self._addresses.service,
            media_url=self._addresses.media,
            updated_at=infra_env.updated_at,
            agent_token=self.agent_token(infra_env),
            ca_certificate=self._addresses.authority(),
            ssh_key=infra_env.ssh_authorized_key,
            proxy=infra_env.proxy,
            trust_bundle=infra_env.additional_trust_bundle,
            ntp_sources=_words(infra_env.ntp_sources or infra_env.additional_ntp_sources),
            static_network=infra_env.static_network_config,
            ignition_override=infra_env.ignition_config_override,
            kernel_arguments=infra_env.kernel_arguments,
            pull_secret=self._vault.open(infra_env.id, "pull_secret", secret) if secret else "",
            rendezvous_ip=infra_env.rendezvous_ip,
            image_type=Kind(infra_env.type),
            architecture=infra_env.cpu_architecture,
            version=infra_env.openshift_version,
        )

    def agent_token(self, infra_env: InfraEnv) -> str:
        """What hosts of the medium register with; made anew with every change of the infra-env."""
        expires = (infra_env.updated_at + AGENT_TOKEN_LASTS).timestamp()
        return self._tokens.issue(Grant(Persona.MEDIUM, Scope(infra_env.id), expires))

    def url_of(self, infra_env: InfraEnv) -> tuple[str, datetime]:
        place = MediaPlace(
            infra_env.id, Kind(infra_env.type), infra_env.openshift_version, infra_env.cpu_architecture
        )
        signed = self._signer.address(self._addresses.media, place, infra_env.signing_key)
        return signed.url, signed.expires_at

    def file_url_of(self, infra_env: InfraEnv, query: dict[str, str]) -> tuple[str, datetime]:
        expires = self._clock() + VALID_FOR
        path = f"{PREFIX}/v2/infra-envs/{infra_env.id}/downloads/files"
        words = urlencode(query)
        grant = Grant(
            Persona.IMAGE,
            Scope(infra_env.id),
            expires.timestamp(),
            link=link_of(path, words.encode()),
            epoch=epoch_of(infra_env),
        )
        return f"{self._addresses.service}{path}?{words}&image_token={self._tokens.issue(grant)}", expires

    def ignition_of(self, infra_env: InfraEnv) -> bytes:
        return discovery_ignition(self.order_of(infra_env))

    def networks_of(self, infra_env: InfraEnv) -> bytes:
        return static_network_archive(self.order_of(infra_env))

    def initrd_of(self, infra_env: InfraEnv) -> bytes | None:
        return minimal_initrd(self.order_of(infra_env))

    def script_of(self, infra_env: InfraEnv) -> str:
        return boot_script(self.order_of(infra_env), infra_env.signing_key, self.composer, self._signer)

    def redirect_of(self, infra_env: InfraEnv) -> str:
        query = {"file_name": "ipxe-script", "ipxe_script_type": "boot-order-control"}
        return redirect_script(self.file_url_of(infra_env, query)[0])

    def check_networks(self, networks: Iterable[HostStaticNetworkConfig]) -> None:
        read_networks(tuple(networks))


class SignedLinks:
    """Addresses that open one file of a cluster without a login."""

    def __init__(self, tokens: Tokens, base: str) -> None:
        self._tokens, self._base = tokens, base

    def sign(self, path: str, expires: datetime, *, cluster_id: str) -> str:
        plain, _, query = path.partition("?")
        grant = Grant(
            Persona.USER,
            Scope(cluster_id=cluster_id),
            expires.timestamp(),
            link=link_of(plain, query.encode()),
        )
        return f"{self._base}{path}{'&' if query else '?'}api_key={self._tokens.issue(grant)}"


class HostTokens:
    """What a host gets when it registers: a token that is good for that host alone."""

    def __init__(
        self, tokens: Tokens, challenges: Challenges, ties: HostTies, clock: Callable[[], datetime]
    ) -> None:
        self._tokens, self._ties, self._clock = tokens, ties, clock
        self.challenge, self.is_proof = challenges.make, challenges.is_proof

    def issue(self, infra_env_id: str, host_id: str, epoch: int | None = None) -> str:
        """A token of an epoch of the host, by default of the present one."""
        expires = (self._clock() + AGENT_TOKEN_LASTS).timestamp()
        if epoch is None:
            epoch = self._ties.enrolment_of(infra_env_id, host_id)
        scope = Scope(infra_env_id, None, host_id)
        return self._tokens.issue(Grant(Persona.HOST, scope, expires, epoch=epoch))


def epoch_of(infra_env: InfraEnv) -> int:
    """Which signing key an infra-env has, as a number: tokens of another one are worthless."""
    return int(infra_env.signing_key[:8] or "0", 16)


def _words(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in text.split(","))))
