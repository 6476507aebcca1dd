// SPDX-License-Identifier: Apache-2.0
/** How the service takes files: as base64 of their bytes. */

/** So many bytes a manifest may have. */
export const LIMIT = 1024 * 1024;

export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

export function encode(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary);
}
