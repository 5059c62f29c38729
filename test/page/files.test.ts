/** The page as files: what a browser has to load, and what the server says about it. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, startApi } from "../rig/api-server.ts";

const folder = fileURLToPath(new URL("../../packages/server/dist/ui/", import.meta.url));
const SIZE_MAX = 60_000;

let server: ApiServer;
beforeAll(async () => {
  expect(existsSync(folder), "npm run build first").toBe(true);
  server = await startApi({ hasUi: true });
});
afterAll(() => server.close());

describe("the page's files", () => {
  test("script and style sheet together are at most 60 kB, compressed", () => {
    const sizes = ["page.js", "page.css"].map((name) => gzipSync(readFileSync(folder + name), { level: 9 }).length);
    expect(sizes[0]! + sizes[1]!).toBeLessThanOrEqual(SIZE_MAX);
  });

  test("/ leads to /ui, and still says what it is to programs", async () => {
    const response = await fetch(`${server.url}/`, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([302, "/ui"]);
    expect(await response.json()).toMatchObject({ name: "sluice" });
  });

  test("the document may load nothing from elsewhere, run nothing inline, and make no script of text", async () => {
    const response = await fetch(`${server.url}/ui`);
    const policy = response.headers.get("content-security-policy")!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("worker-src 'self'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/unsafe|data:|https?:/);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const text = await response.text();
    expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=/);
    expect([...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path)).toEqual([
      "/ui/icon.svg",
      "/ui/page.css",
      "/ui/page.js",
    ]);
  });

  test("a file that a browser has is not sent again, and goes compressed to those who accept it", async () => {
    const first = await fetch(`${server.url}/ui/page.js`);
    expect(first.headers.get("content-encoding")).toBe("gzip");
    const etag = first.headers.get("etag")!;
    const again = await fetch(`${server.url}/ui/page.js`, { headers: { "if-none-match": etag } });
    expect(again.status).toBe(304);
    const plain = await fetch(`${server.url}/ui/page.js`, { headers: { "accept-encoding": "identity" } });
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(await plain.text()).toBe(await first.text());
  });

  test("a server that does not serve it answers 404", async () => {
    const without = await startApi();
    try {
      expect((await fetch(`${without.url}/ui`)).status).toBe(404);
      expect((await fetch(`${without.url}/`)).status).toBe(200);
    } finally {
      await without.close();
    }
  });
});
