/**
 * The live page in a real browser, on a built server: what a person sees and does there.
 *
 * The short form is one browser, one server and a minute's worth of requests; CI=true adds every view in both themes, stores that are away, and
 * many namespaces.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openAdminStore } from "../../packages/server/src/admin/open-admin-store.ts";
import { SYSTEM } from "../../packages/server/src/system/system.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { byLength, figure } from "../rig/length.ts";
import { poll } from "../rig/poll.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { SluiceServer } from "../rig/sluice-server.ts";
import { findingsOf, type Page, signIn, TestBrowser } from "./browser.ts";

const isDeep = process.env["CI"] === "true";
const HOUR_MS = 3_600_000;

let folder = "";
let redis: RedisServer;
let server: SluiceServer;
let browser: TestBrowser;

beforeAll(async () => {
  folder = temporaryFolder();
  redis = await RedisServer.start();
  server = await SluiceServer.start(folder, { args: ["--redis-url", redis.url] });
  browser = await TestBrowser.start();
});
afterAll(async () => {
  await browser.close();
  await server.stop("SIGKILL");
  await redis.stop();
  removeFolder(folder);
});

const limit = (namespace: string, identifier: string, more: object = {}) =>
  server.post("limit", { namespace, identifier, limit: 3, duration: HOUR_MS, ...more });

async function call(operation: string, body: object, key = server.key): Promise<Record<string, unknown>> {
  const response = await fetch(`${server.url}/v2/${operation}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return ((await response.json()) as { data: Record<string, unknown> }).data;
}

async function keyWith(...permissions: string[]): Promise<string> {
  return String((await call("admin.createKey", { permissions }))["key"]);
}

async function opened(
  hash = "",
  look: { theme?: "light" | "dark"; width?: number } = {},
  key = server.key,
): Promise<Page> {
  const page = await browser.open(`${server.url}/${hash}`, look);
  await signIn(page, key);
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  return page;
}

describe("the page", () => {
  test("is where / leads, refuses a wrong key in the server's words, and keeps a right one out of the address and of cookies", async () => {
    const page = await browser.open(`${server.url}/`);
    expect(page.url()).toBe(`${server.url}/ui`);
    await signIn(page, "sluice_wrong");
    await page.getByRole("alert").filter({ hasText: "The key is unknown" }).waitFor();
    await signIn(page, server.key);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(page.url()).not.toContain(server.key);
    expect(
      await page.evaluate("document.cookie + JSON.stringify({ ...sessionStorage, ...localStorage })"),
    ).not.toContain(server.key);
    await page.reload();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await page.context().close();
  });

  test("leads from the sign-in to the most denied identifier, the reason and a raised limit in four clicks", async () => {
    for (let i = 0; i < 12; i++) await limit("checkout", "noisy_customer");
    for (let i = 0; i < 5; i++) await limit("checkout", "other_customer");
    const page = await browser.open(`${server.url}/`);
    await signIn(page, server.key); // the first click
    await page.getByRole("link", { name: "noisy_customer" }).click(); // the second
    await page
      .getByText("3 in this window + 0 of the previous one + cost 1 = 4, above the limit of 3 per 1 h")
      .waitFor();
    await page.getByLabel("Limit", { exact: true }).fill("50");
    await page.getByRole("button", { name: "Set a limit of its own" }).click(); // the third
    await page.getByText("Saved. The next request gets it.").waitFor();
    const { body } = await limit("checkout", "noisy_customer");
    expect(body.data).toMatchObject({ success: true, limit: 50, remaining: 46 });
    await page.getByText("This identifier has an override of its own").waitFor();
    // The page says what the API says.
    const inspected = await call("ratelimit.inspect", { namespace: "checkout", identifier: "noisy_customer" });
    await page.getByText(`${inspected["effective"]} in this window`).waitFor();
    await page.context().close();
  });

  test("shows numbers that move under load, and stand still while it is paused", async () => {
    const page = await opened();
    const allowed = page.locator(".tile-allowed .tile-number");
    const load = setInterval(() => void limit("moving", "user", { limit: 1_000_000 }).catch(() => {}), 20);
    try {
      await poll("a rate above zero", async () => (Number(await allowed.textContent()) > 5 ? true : undefined));
      await page.getByRole("button", { name: "Pause" }).click();
      const shown = await page.locator(".tiles").textContent();
      const before = (
        await call("ratelimit.inspect", { namespace: "moving", identifier: "user", limit: 9, duration: HOUR_MS })
      )["effective"];
      await poll("fifty more requests", async () => {
        const now = await call("ratelimit.inspect", {
          namespace: "moving",
          identifier: "user",
          limit: 9,
          duration: HOUR_MS,
        });
        return Number(now["effective"]) > Number(before) + 50 ? true : undefined;
      });
      expect(await page.locator(".tiles").textContent()).toBe(shown);
      await page.getByRole("button", { name: "Resume" }).click();
      await page.getByRole("status").filter({ hasText: "Live" }).waitFor();
    } finally {
      clearInterval(load);
    }
    await page.context().close();
  });

  test("shows a key with few permissions what it may do, and nothing else", async () => {
    await limit("shop", "user_1");
    const { namespaceId } = (
      (await call("ratelimit.listNamespaces", { limit: 100 })) as unknown as { namespaceId: string; name: string }[]
    ).find(({ name }) => name === "shop")!;
    const page = await opened("ui", {}, await keyWith(`ratelimit.${namespaceId}.read_namespace`));
    await page.getByText("This key may not follow the workspace.").waitFor();
    await page.getByRole("link", { name: "Namespaces" }).click();
    await page.getByRole("link", { name: "shop" }).click();
    await page.getByRole("heading", { name: "Checks per minute" }).waitFor();
    await page.getByText("This key may not read overrides.").waitFor();
    expect(await page.getByRole("button", { name: /Delete|shadow|New override/ }).count()).toBe(0);
    await page.getByRole("link", { name: "Administration" }).click();
    for (const tab of ["Changes", "Keys", "Server"]) {
      await page.getByRole("navigation", { name: "Administration" }).getByRole("link", { name: tab }).click();
      await page.getByText(/^This key may not/).waitFor();
    }
    await page.context().close();
  });

  test("shows names that try to be markup or script as the text they are", async () => {
    const marked = PAYLOADS.map((payload, i) => `${i} ${payload}`);
    for (const name of marked) for (let i = 0; i < 4; i++) await limit(name, name);
    const page = await opened();
    await page.getByRole("link", { name: marked[0]!, exact: true }).first().waitFor();
    await page.getByRole("link", { name: "Namespaces" }).click();
    for (const name of isDeep ? marked : marked.slice(0, 4)) {
      await page.getByRole("link", { name: "Namespaces" }).click();
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { name, exact: true }).waitFor();
      await page.locator(".ranked a").filter({ hasText: name }).first().click();
      await page.getByRole("heading", { name, exact: true }).waitFor();
      await page.locator(".verdict").waitFor();
    }
    expect(browser.troubles).toEqual([]);
    await page.context().close();
  });

  test("creates a key that is shown once and works, and revokes it", async () => {
    const page = await opened("ui#/admin/keys");
    await page.getByLabel("Name").fill("made on the page");
    await page.getByRole("button", { name: "Create key" }).click();
    const token = (await page.locator(".secret code").textContent())!;
    expect(
      (
        await fetch(`${server.url}/v2/admin.getKey`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: "{}",
        })
      ).status,
    ).toBe(200);
    await page.getByRole("button", { name: "Done" }).click();
    expect(await page.content()).not.toContain(token);
    await page.getByRole("button", { name: "Revoke made on the page" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await poll("the end of the key", async () => {
      const { status } = await fetch(`${server.url}/v2/admin.getKey`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: "{}",
      });
      return status === 401 ? true : undefined;
    });
    await page.context().close();
  });

  test("is used with the keyboard alone", async () => {
    const page = await browser.open(`${server.url}/ui`);
    await page.keyboard.press("Tab");
    await page.keyboard.type(server.key);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    // The link to skip the navigation is first.
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
    for (const name of ["Sluice", "Overview", "Namespaces"]) {
      await page.keyboard.press("Tab");
      expect(await page.evaluate("document.activeElement.textContent")).toBe(name);
    }
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Namespaces" }).waitFor();
    await page.context().close();
  });

  const VIEWS = [
    ["overview", "ui"],
    ["namespaces", "ui#/namespaces"],
    ["namespace", "ui#/namespaces/checkout"],
    ["key", `ui#/key/checkout/other_customer/3/${HOUR_MS}`],
    ["find-key", "ui#/key"],
    ["changes", "ui#/admin/changes"],
    ["keys", "ui#/admin/keys"],
    ["server", "ui#/admin/server"],
  ] as const;

  test.each(VIEWS.filter(([name]) => isDeep || name === "overview" || name === "key"))(
    "%s has no finding of axe-core, and fits 360 pixels",
    async (name, hash) => {
      for (let i = 0; i < 6; i++) await limit("checkout", "other_customer");
      for (const theme of isDeep ? (["light", "dark"] as const) : (["light"] as const)) {
        const page = await opened(hash, { theme });
        await page.locator("h1").waitFor();
        await page.locator("table:visible, .verdict, form:visible").first().waitFor();
        expect([name, theme, await findingsOf(page)]).toEqual([name, theme, []]);
        await page.context().close();
      }
      const narrow = await opened(hash, { width: 360 });
      await narrow.locator("h1").waitFor();
      const width = await narrow.evaluate("document.documentElement.scrollWidth");
      expect([name, width]).toEqual([name, 360]);
      await narrow.context().close();
    },
  );

  test("shows that Redis is away within three seconds, and that it is back", async () => {
    const page = await opened();
    const region = page.locator(".layer").nth(1);
    await region.getByText("Healthy").waitFor();
    await redis.kill();
    const beganMs = performance.now();
    await region.getByText(/Unavailable|Degraded/).waitFor();
    expect(performance.now() - beganMs).toBeLessThan(3_000 + SLOW_MS);
    await redis.begin();
    await region.getByText("Healthy").waitFor({ timeout: 20_000 });
    await page.context().close();
  });

  test("nothing of all this broke the content policy, asked another origin or threw", () => {
    expect(browser.troubles).toEqual([]);
  });
});

if (isDeep) {
  test("memory does not grow while the page is live", async () => {
    const minutes = byLength({ short: 0, ci: 1, lab: 10 });
    const page = await opened();
    const session = await page.context().newCDPSession(page);
    const heapBytes = async () => {
      await session.send("HeapProfiler.collectGarbage");
      return (await session.send("Runtime.getHeapUsage")).usedSize;
    };
    const load = setInterval(() => void limit("moving", "user", { limit: 1_000_000 }).catch(() => {}), 50);
    try {
      await page.waitForTimeout(15_000);
      const before = await heapBytes();
      await page.waitForTimeout(60_000 * minutes);
      const grown = (await heapBytes()) - before;
      figure(`heap of the page after ${minutes} min live: ${Math.round(grown / 1_024)} KiB more`);
      // A second is a point of five numbers, at most 200 bytes: 12 kB per minute until the hour is full. The rest is for compiled code.
      expect(grown).toBeLessThan(minutes * 12_000 + 1_000_000);
    } finally {
      clearInterval(load);
    }
    await page.context().close();
  }, 700_000);

  test("10,000 namespaces stay usable", async () => {
    const dataDir = temporaryFolder();
    const store = await openAdminStore({ sqlUrl: null, dataDir: join(dataDir, "data") }, SYSTEM);
    for (let i = 0; i < 10_000; i++) await store.createNamespace("default", `many.${i}`, "cli:test");
    await store.close();
    const large = await SluiceServer.start(dataDir);
    const page = await browser.open(`${large.url}/ui#/namespaces`);
    await signIn(page, large.key);
    await page.getByRole("button", { name: "Load 100 more" }).click();
    await page.getByLabel("Find by name").fill("many.9042");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "many.9042" }).waitFor();
    await page.getByRole("heading", { name: "Checks per minute" }).waitFor();
    await page.context().close();
    await large.stop("SIGKILL");
    removeFolder(dataDir);
  }, 180_000);
}

/** What a machine that runs many suites at once may take in addition. */
const SLOW_MS = 2_000;

const PAYLOADS = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)>",
  '"><script>alert(1)</script>',
  "'><img src=x onerror=alert(1)>",
  "javascript:alert(1)",
  "<iframe srcdoc='<script>alert(1)</script>'>",
  "<a href=javascript:alert(1)>x</a>",
  "{{constructor.constructor('alert(1)')()}}",
  "$" + "{alert(1)}",
  "</title><script>alert(1)</script>",
  "<style>*{display:none}</style>",
  "<base href=//evil.example>",
  "<meta http-equiv=refresh content=0;url=//evil.example>",
  "<form action=//evil.example><input>",
  "<object data=javascript:alert(1)>",
  "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
  "#/admin/keys",
  "../../v2/admin.listKeys",
  "%3Cscript%3Ealert(1)%3C/script%3E",
];
