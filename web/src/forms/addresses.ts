// SPDX-License-Identifier: Apache-2.0
/** IP addresses and networks as numbers. */

export interface Address {
  family: 4 | 6;
  value: bigint;
}

export interface Network {
  family: 4 | 6;
  first: bigint;
  prefix: number;
  /** Bits behind the prefix are set: it is an address in a network, not a network. */
  hasHostBits: boolean;
}

export function parseAddress(text: string): Address | null {
  const value = text.includes(":") ? parseSix(text) : parseFour(text);
  return value === null ? null : { family: text.includes(":") ? 6 : 4, value };
}

function parseFour(text: string): bigint | null {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) return null;
  return parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function parseSix(text: string): bigint | null {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const groups = halves.map((half) => (half ? half.split(":") : []));
  const given = groups.flat();
  if (!given.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return null;
  const missing = 8 - given.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return null;
  const all = [...(groups[0] ?? []), ...Array<string>(missing).fill("0"), ...(groups[1] ?? [])];
  return all.reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n);
}

export function parseNetwork(text: string): Network | null {
  const [address, length, ...rest] = text.split("/");
  const parsed = parseAddress(address ?? "");
  if (!parsed || rest.length || !/^\d{1,3}$/.test(length ?? "")) return null;
  const bits = parsed.family === 4 ? 32 : 128;
  const prefix = Number(length);
  if (prefix > bits) return null;
  const below = 1n << BigInt(bits - prefix);
  const first = (parsed.value / below) * below;
  return { family: parsed.family, first, prefix, hasHostBits: first !== parsed.value };
}

export function sizeOf(network: Network): bigint {
  return 1n << BigInt((network.family === 4 ? 32 : 128) - network.prefix);
}

export function contains(network: Network, address: Address): boolean {
  const offset = address.value - network.first;
  return network.family === address.family && offset >= 0n && offset < sizeOf(network);
}

/** Whether it is an address that a machine can have: of an IPv4 network, neither the first nor the last. */
export function isHostAddress(network: Network, address: Address): boolean {
  if (!contains(network, address)) return false;
  if (network.family === 6 || network.prefix >= 31) return true;
  const offset = address.value - network.first;
  return offset !== 0n && offset !== sizeOf(network) - 1n;
}

export function overlap(one: Network, other: Network): boolean {
  if (one.family !== other.family) return false;
  return contains(one, { family: one.family, value: other.first }) || contains(other, { family: one.family, value: one.first });
}
