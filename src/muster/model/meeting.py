# SPDX-License-Identifier: Apache-2.0
"""Where the hosts of a site meet: written to their medium, and read by what runs on them."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from muster.frozen import dataclass

SERVICE_PORT: Final = 8090
JOIN_PORT: Final = 8091
"""Where hosts of a generic medium ask a rendezvous host to take them."""
ANNOUNCEMENT_PORT: Final = 8092
ANNOUNCEMENT_GROUPS: Final = ("239.255.80.90", "ff12::8090:6d75")
"""Multicast groups that rendezvous hosts announce themselves to: site-local IPv4, link-local IPv6."""
ENVIRONMENT: Final = "/etc/assisted/rendezvous-host.env"
AGENT_TOKEN: Final = "/etc/assisted/tokens/agent"  # noqa: S105 - a path
SERVICE_AUTHORITY: Final = "/etc/assisted/tls/service-ca.crt"
GENERIC_MARK: Final = "/etc/assisted/interactive-ui"
"""Lies on a medium that knows no site: whoever stands before its hosts says where they meet."""
HINTS_FROM: Final = "# from "
"""Begins the comment of root-device-hints.yaml that says in which file and line of the site they stand."""
PLATFORM: Final = "kubernetes"
"""What the service waits for at the end, and the first node tells of: the cluster's own parts, as one."""


@dataclass(frozen=True)
class Meeting:
    """Where they meet, and which cluster they are to become."""

    ip: IPv4Address | IPv6Address
    cluster_id: str
    infra_env_id: str

    @property
    def url(self) -> str:
        """Where the service is."""
        return service_url(self.ip)


def render_meeting(meeting: Meeting) -> str:
    """The environment that says it; `parse_meeting` reads it again."""
    return render_environment(
        {
            "NODE_ZERO_IP": str(meeting.ip),
            "SERVICE_BASE_URL": f"{meeting.url}/",
            "CLUSTER_ID": meeting.cluster_id,
            "INFRA_ENV_ID": meeting.infra_env_id,
        }
    )


def service_url(ip: IPv4Address | IPv6Address) -> str:
    """Where the service of a site is, by the address where its hosts meet."""
    return f"https://{url_host(ip)}:{SERVICE_PORT}"


def url_host(ip: IPv4Address | IPv6Address) -> str:
    """An address as it stands in a URL."""
    return f"[{ip}]" if ip.version == 6 else str(ip)


def render_environment(values: Mapping[str, str]) -> str:
    """NAME=value lines."""
    return "".join(f"{name}={value}\n" for name, value in sorted(values.items()))


def parse_environment(text: str) -> dict[str, str]:
    """The same, read again."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def parse_meeting(text: str) -> Meeting | None:
    """What an environment says of the meeting; None when it does not say where it is."""
    values = parse_environment(text)
    try:
        return Meeting(ip_address(values["NODE_ZERO_IP"]), values["CLUSTER_ID"], values["INFRA_ENV_ID"])
    except (KeyError, ValueError):
        return None
