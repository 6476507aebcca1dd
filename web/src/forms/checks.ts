// SPDX-License-Identifier: Apache-2.0
/** What is wrong with what was typed, said at once; the service has the last word. */
import { t, type Key } from "../i18n";
import { isHostAddress, parseAddress, parseNetwork } from "./addresses";

/** What is wrong, or nothing. */
export type Fault = string;
const FINE: Fault = "";
const say = (key: Key, values = {}): Fault => t(key, values);

export function checkName(text: string): Fault {
  if (!text) return say("check.name.empty");
  if (text.length > 54) return say("check.name.long", { count: text.length });
  const bad = /[^a-z0-9-]/.exec(text);
  if (bad) return /[A-Z]/.test(bad[0]) ? say("check.name.upper") : say("check.name.chars", { char: bad[0] });
  if (text.startsWith("-") || text.endsWith("-")) return say("check.name.ends");
  return FINE;
}

export function checkHostname(text: string): Fault {
  if (!text) return say("check.hostname.empty");
  if (text.length > 63) return say("check.hostname.long", { count: text.length });
  return checkLabels(text) || (/^localhost/.test(text) ? say("check.hostname.localhost") : FINE);
}

/** The key of a host, as its console shows it. */
export function checkKey(text: string): Fault {
  if (!text) return say("check.key.empty");
  return /^[0-9A-F]{4}(-[0-9A-F]{4}){4}$/.test(text) ? FINE : say("check.key.form");
}

export function checkDomain(text: string): Fault {
  if (!text) return say("check.domain.empty");
  if (text.length > 181) return say("check.domain.long");
  return checkLabels(text);
}

function checkLabels(text: string): Fault {
  if (/\s/.test(text)) return say("check.domain.space");
  for (const label of text.split(".")) {
    if (!label) return say("check.domain.dots");
    if (label.length > 63) return say("check.domain.label", { label });
    const bad = /[^a-z0-9-]/.exec(label);
    if (bad) return /[A-Z]/.test(bad[0]) ? say("check.name.upper") : say("check.name.chars", { char: bad[0] });
    if (label.startsWith("-") || label.endsWith("-")) return say("check.domain.hyphen", { label });
  }
  return FINE;
}

/** A pull secret without the line breaks that a terminal puts in when it is copied. */
export function mendPullSecret(text: string): string {
  const trimmed = text.trim();
  try {
    return JSON.stringify(JSON.parse(trimmed));
  } catch {
    return trimmed.replace(/\s*[\r\n]+\s*/g, "");
  }
}

export function checkPullSecret(text: string): Fault {
  if (!text.trim()) return say("check.secret.empty");
  let parsed: unknown;
  try {
    parsed = JSON.parse(mendPullSecret(text));
  } catch {
    return say("check.secret.json");
  }
  const auths = (parsed as { auths?: unknown } | null)?.auths;
  return typeof auths === "object" && auths !== null ? FINE : say("check.secret.auths");
}

export function checkProxy(text: string): Fault {
  if (!text) return FINE;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return say("check.proxy.url");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return say("check.proxy.scheme");
  return url.hostname ? FINE : say("check.proxy.url");
}

/** Names, with or without a dot before them, addresses and networks; `*` stands for everything. */
export function checkNoProxy(text: string): Fault {
  for (const each of splitList(text)) {
    const isPlain = each === "*" || parseAddress(each) || parseNetwork(each);
    const bad = isPlain ? FINE : checkLabels(each.toLowerCase().replace(/^\*?\./, ""));
    if (bad) return say("check.no_proxy", { item: each, why: bad });
  }
  return FINE;
}

export function checkNtp(text: string): Fault {
  for (const each of splitList(text)) {
    const bad = parseAddress(each) ? FINE : checkLabels(each.toLowerCase());
    if (bad) return say("check.ntp", { server: each, why: bad });
  }
  return FINE;
}

export function checkCidr(text: string): Fault {
  if (!text) return say("check.cidr.empty");
  const network = parseNetwork(text);
  if (!network) return say("check.cidr.form");
  return network.hasHostBits ? say("check.cidr.bits") : FINE;
}

/** An address that is to be in one of some networks, if any are known. */
export function checkVip(text: string, networks: string[]): Fault {
  if (!text) return say("check.vip.empty");
  const address = parseAddress(text);
  if (!address) return say("check.vip.form");
  const known = networks.map(parseNetwork).filter((each) => each !== null);
  const own = known.filter((each) => each.family === address.family);
  if (!own.length || own.some((each) => isHostAddress(each, address))) return FINE;
  return say("check.vip.outside", { networks: networks.join(", ") });
}

export function checkSshKey(text: string): Fault {
  if (!text.trim()) return FINE;
  for (const line of text.trim().split("\n")) {
    if (/PRIVATE KEY/.test(line)) return say("check.ssh.private");
    if (!/^(ssh-(rsa|ed25519|dss)|ecdsa-sha2-\S+|sk-\S+)\s+AAAA[0-9A-Za-z+/=]+(\s.*)?$/.test(line.trim())) {
      return say("check.ssh.form");
    }
  }
  return FINE;
}

export function splitList(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}
