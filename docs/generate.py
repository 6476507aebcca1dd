# SPDX-License-Identifier: Apache-2.0
"""Writes the generated part of docs/reference and the firewall of live hosts, from what the code has as data.

Rules, files and commands come from the catalogue, the models and the command line; pages about the service
from its table of operations, its tables of states, and its validations. The page about the CIS benchmark
comes from cis.toml, which a test compares with the files of nodes.

python docs/generate.py
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from muster import __version__
from muster.cli.app import muster
from muster.config.describe import doc_of, notes, type_name, walk_fields
from muster.config.kinds import KINDS
from muster.config.settings_page import render_settings
from muster.model.catalogue import rules
from muster.model.firewall import LIVE_RULES_FILE, POD_BRIDGE, RULES_FILE, SITE_RULES, render_live
from muster.model.ports import render_ports
from muster.service.api.openapi import build_openapi
from muster.service.api.openapi_page import render_api
from muster.service.api.table import ROUTES
from muster.service.api.table.render import render_reasons, render_table
from muster.service.states.diagram import render_states
from muster.service.validations.page import render_validations

HERE = Path(__file__).parent / "reference"
LIVE_RULES = Path(__file__).parent.parent / "machine-os/tree" / LIVE_RULES_FILE.lstrip("/")
NOTICE = "<!-- Written by docs/generate.py (`make docs`); do not edit. -->\n"


def pages() -> dict[str, str]:
    """Every generated page by its name."""
    found = {"rules.md": _rules(), "commands.md": _commands()}
    for kind in KINDS:
        found[f"files/{kind}.md"] = _file(kind)
    found["files/README.md"] = _files()
    found |= {
        "settings.md": render_settings(),
        "api.md": render_api(build_openapi(ROUTES, __version__)),
        "access.md": _access(),
        "states.md": render_states(),
        "validations.md": render_validations(),
        "cis.md": _cis(tomllib.loads((HERE / "cis.toml").read_text("utf-8"))),
        "ports.md": _PORTS_BEFORE + "\n" + render_ports() + "\n" + _PORTS_AFTER,
    }
    return {name: f"{NOTICE}\n{text}" for name, text in found.items()}


def _rules() -> str:
    lines = [
        "# Rules",
        "",
        "Every rule that `muster check` knows; `muster explain MC101` prints one. Those marked *repair*",
        "are mended by `muster check --fix`, at least in their common form. Words in braces are filled in.",
        "",
        "| id | name | severity | message |",
        "|---|---|---|---|",
    ]
    for rule in rules().values():
        severity = f"{rule.severity}, repair" if rule.repair else str(rule.severity)
        lines.append(
            f"| [{rule.id}](#{rule.id.lower()}) | {rule.slug} | {severity} | {_cell(rule.message)} |"
        )
    for rule in rules().values():
        lines += ["", f"## {rule.id}", f"**{rule.slug}** ({rule.severity})", ""]
        lines += [f"> {_text(rule.message)}", "", _text(rule.why), "", f"Fix: {_text(rule.fix)}"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|").replace("\n", " ")


def _text(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;").replace("*", "\\*")


def _files() -> str:
    lines = [
        "# Files",
        "",
        "The files that Muster reads from a site's directory.",
        "",
        "| kind | file | what it says |",
        "|---|---|---|",
    ]
    lines += [
        f"| [{kind}]({kind}.md) | `{file}` | {doc_of(model)} |" for kind, (file, model) in KINDS.items()
    ]
    lines += [
        "| | `mirror/registries.conf` | Where images are pulled from (containers-registries.conf(5)). |",
        "| | `mirror/ca-bundle.crt` | Certificates of authorities that hosts trust. |",
        "| | `openshift/*.yaml` | Manifests that are handed to the cluster as they are. |",
    ]
    return "\n".join(lines) + "\n"


def _file(kind: str) -> str:
    file, model = KINDS[kind]
    lines = [f"# {file}", "", doc_of(model), "", "| field | type | meaning |", "|---|---|---|"]
    for path, entry in walk_fields(model):
        words = [entry.doc]
        if entry.required:
            words.append("**Required.**")
        if entry.default:
            words.append(f"Default: {entry.default}.")
        if entry.example:
            words.append(f"Example: `{entry.example}`.")
        words += notes(entry)
        lines.append(f"| `{path}` | {_cell(type_name(entry))} | {_cell_with_code(' '.join(words))} |")
    return "\n".join(lines) + "\n"


def _cell_with_code(text: str) -> str:
    return text.replace("|", "\\|")


def _access() -> str:
    return f"{_ACCESS}\n{render_table(ROUTES)}\n{_REASONS}\n{render_reasons(ROUTES)}"


_ACCESS = """\
# Access

Every operation of the service, and the roles that may call it. A test checks every operation in every role
and in every state of a cluster, for the caller's own host, another host and another infra-env, and compares
the result with this page. Requests and answers of each operation are in [the interface](api.md).

| role | where its token comes from | scope |
|---|---|---|
| user | a login with the code that `muster serve` prints, or with the password | everything |
| watcher | a login with the viewer's password, or `--token-key`: `wait-for`, dashboards | reads no secrets |
| host | the answer to its registration | that host, and the status of its own cluster |
| medium | the boot medium; all hosts of the medium share it | registration of hosts in one infra-env |
| image | a signed address, which expires | one file of one infra-env |

"anyone" needs no token. Other words in a cell are conditions. A host is bound to the key pair that it makes
at its first registration; [how hosts register](../explanation/service.md) says what happens when it comes
back without it.
"""

_REASONS = """\
## What the rights of hosts, media and signed addresses are needed for
"""


def _cis(data: Mapping[str, Any]) -> str:
    items = [item for section in data["section"] for item in section["item"]]
    states = Counter(item["status"] for item in items)
    lines = [
        "# CIS benchmark",
        "",
        "How nodes that Muster installs with a release of kind `kubernetes` stand against the",
        f"{data['benchmark']}, sections 1 to 4. A test compares the column *node* with the files of",
        "nodes of every kind. Of section 5 (policies), the default Pod Security level and the default",
        "seccomp filter are set, see [secure a cluster](../how-to/cluster-security.md). Roles and service",
        "accounts, network policies, the use of Secrets, image policies and namespaces are up to you.",
        "",
        f"{len(items)} items: {', '.join(f'{states[each]} {each}' for each in sorted(states))}.",
    ]
    for section in data["section"]:
        lines += [
            "",
            f"## {section['title']}",
            "",
            "| item | asks for | status | node | notes |",
            "|---|---|---|---|---|",
        ]
        for item in section["item"]:
            node = ", ".join(dict.fromkeys(_cis_check(check) for check in item.get("checks", ())))
            lines.append(
                f"| {item['id']} | {item['title']} | {item['status']} | {node} | {item.get('why', '')} |"
            )
    return "\n".join(lines) + "\n"


def _cis_check(check: Mapping[str, Any]) -> str:
    """What one check of cis.toml says, for people."""
    (kind, where), (how, value) = check.items()
    subject = where.rpartition(" ")[2] if kind in ("flag", "field") else where
    shown = value if isinstance(value, str) else json.dumps(value)
    if how == "absent":
        return f"no `{subject}`"
    if kind == "line":
        return f"`{shown}`"
    if kind == "flag" and how == "is":
        return f"`{subject}={shown}`"
    words = {"has": "includes ", "lacks": "without "}
    return f"`{subject}`: {words.get(how, '')}`{shown}`"


_PORTS_BEFORE = f"""\
# Ports and the host firewall

Hosts of the machine OS drop every packet that is addressed to them and that no row of this table allows.
The rules are the nftables table `inet muster`, which `muster-firewall.service` loads before the network
is up: on a live host from `{LIVE_RULES_FILE}`, on a node from
`{RULES_FILE}`, which the installation writes. A disk without that file (the machine OS
installed by hand) has no firewall. Hosts that run another system (OpenShift on RHCOS) have the rules of
that system.
"""
_PORTS_AFTER = f"""\
Also accepted, on all systems: replies to what the host sent (established and related connections),
loopback, ICMP and ICMPv6 errors, echo requests, IPv6 neighbour and router discovery, IGMP and MLD, and
answers of DHCP servers.

VRRP (IP protocol 112), which moves the virtual addresses of a cluster, is accepted only from the hosts
that share a virtual address, and only with a TTL of 255, so from the same link. keepalived sends it by
unicast and ignores senders that are not its peers. VRRP itself has no authentication: a host on the same
link that takes the IP address of a peer can still interfere, as it can by ARP.

A node forwards packets of its cluster only. Everybody may use node ports, load balancers and ports of the
host that lead to pods, which kube-proxy redirects. Addresses of services are for hosts of the machine
networks and pods. Pods reach everything but the ports above that are open to hosts or members of etcd only
(another host would see the address of the pod's host). A Service whose endpoint is such a port does not open
it. Hosts of the machine networks, and pods, reach pods. Nothing else is forwarded: a node is not a router for
others. Network policies can restrict pods further.

Frames between two ports of a Linux bridge pass these rules on `{POD_BRIDGE}` only, the bridge of the
pods. Other bridges of a host, such as those of virtual machines, are not filtered.

If the rules of a host cannot be loaded, only SSH is open until they can, and nothing is forwarded. If
`nft` cannot load anything, the rules that were loaded earlier stay. After a boot there are none: then
every port is open, and the unit says that the host has NO FIREWALL. Services start after the unit has
run, also when it failed.

A pod on the host network that listens on a port that is not in the table needs a rule of the site.

## Rules of a site
Put files into `{SITE_RULES}`, with names that end in `.nft`. Each is loaded by `nft` after the rules
above and usually adds rules to the chain `site`, which comes before the rows of the table: it can open
and close ports. The chain `site_forward` does the same for what a node forwards; a live host has none.

```text
# {SITE_RULES}/50-site.nft
add rule inet muster site tcp dport 8443 accept
add rule inet muster site iifname "eth1" tcp dport 9443 accept
# SSH from the networks of the administrators only.
add rule inet muster site ip saddr != 192.0.2.0/24 tcp dport 22 drop
add rule inet muster site ip6 saddr != 2001:db8:1::/64 tcp dport 22 drop
# A network that may reach pods.
add rule inet muster site_forward ip saddr 198.51.100.0/24 oifname "{POD_BRIDGE}" accept
add rule inet muster site_forward ip6 saddr 2001:db8:2::/64 oifname "{POD_BRIDGE}" accept
```

- A rule with `ip` says nothing about IPv6, and one with `ip6` nothing about IPv4. Write both.
- Match interfaces by name, with `iifname` and `oifname`. `iif` and `oif` need an interface that is there
  when the rules are loaded, which is before the network is up.
- Files are loaded again at each boot and each restart of the unit. The table `inet muster` is made anew
  before that, other tables stay as they are. Begin the file of a table of your own with two lines,
  `table inet NAME` and `delete table inet NAME`, so that its rules are not added twice.
- A file with `flush ruleset` is not loaded: that would remove the rules of kube-proxy and of pods, too.
  Files that it includes (`include`) are not searched for it; do not use it there either.

| host | how the file gets there |
|---|---|
| live host | `muster agent create image --ignition-override FILE`, or `ignitionConfigOverride` of InfraEnv |
| node, at installation | Ignition override of the host: `PATCH /v2/infra-envs/{{id}}/hosts/{{id}}/ignition` |
| node, later | copy the file by SSH, then `sudo systemctl restart muster-firewall` |

A file with `flush ruleset`, or that `nft --check` refuses, is left out and the other rules are loaded all
the same. The unit `muster-firewall.service` then has failed; `systemctl status muster-firewall`, the
console of a live host and `/run/muster/firewall.json` name the file and the line. If the files of the
site remove the rules of the host, these are loaded again without them.

`sudo nft list table inet muster` shows what is active, and how many packets were dropped.
"""


def _commands() -> str:
    lines = ["# Commands", "", "The output of `--help` of every verb."]
    # As wide as in a terminal of 80 characters, whatever the terminal is that this runs in.
    root = click.Context(muster, info_name="muster", **{**muster.context_settings, "terminal_width": 78})
    for path, context in _walk(root):
        lines += ["", f"## {path}", "", "```text", context.get_help().rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _walk(context: click.Context) -> Iterator[tuple[str, click.Context]]:
    yield context.command_path, context
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from _walk(click.Context(child, parent=context, info_name=name))


def main() -> None:
    """Write all pages."""
    for name, text in pages().items():
        path = HERE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    LIVE_RULES.write_text(render_live(), "utf-8")


if __name__ == "__main__":
    main()
