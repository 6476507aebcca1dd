// SPDX-License-Identifier: Apache-2.0
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

declare const process: { env: Record<string, string | undefined> };

/** Where the service is that `npm run dev` and `npm run preview` pass requests on to. */
const service = process.env.MUSTER_URL ?? "https://127.0.0.1:8090";
const proxy = Object.fromEntries(
  ["/api", "/byapikey", "/health", "/ready", "/openapi.json"].map((path) => [
    path,
    { target: service, secure: false, changeOrigin: true },
  ]),
);
/** What the service sends with its pages; the preview does the same, so that a breach shows early. */
const policy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  server: { proxy },
  preview: { proxy, headers: { "Content-Security-Policy": policy } },
  test: {
    environment: "jsdom",
    include: ["src/**/*.test.{ts,tsx}"],
    // Components import their style sheets, which node itself cannot.
    server: { deps: { inline: [/@patternfly/] } },
  },
});
