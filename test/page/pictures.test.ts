/**
 * The pictures of docs/ui.md, of a server with made-up traffic: SLUICE_PICTURES=1 npx vitest run test/page/pictures.test.ts
 *
 * Without that variable it looks at one view only, so that what makes the pictures does not rot.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bootstrap } from "../../packages/server/src/admin/bootstrap.ts";
import { openAdminStore } from "../../packages/server/src/admin/open-admin-store.ts";
import type { UsageRow } from "../../packages/server/src/admin/usage-row.ts";
import { SYSTEM } from "../../packages/server/src/system/system.ts";
import { removeFolder, temporaryFolder } from "../rig/child-processes.ts";
import { RedisServer } from "../rig/redis-server.ts";
import { SluiceServer } from "../rig/sluice-server.ts";
import { type Page, signIn, TestBrowser } from "./browser.ts";

const isForDocs = process.env["SLUICE_PICTURES"] !== undefined;
const ROOT = "a-root-key-for-the-pictures";
const NAMESPACES = [
  { name: "api.public", limit: 60, users: 40 },
  { name: "email.outbound", limit: 8, users: 12 },
  { name: "login.attempts", limit: 4, users: 6 },
  { name: "search", limit: 500, users: 30 },
  { name: "webhooks", limit: 90, users: 10 },
];

let folder = "";
let redis: RedisServer;
let server: SluiceServer;
let browser: TestBrowser;
let load: ReturnType<typeof setInterval>;

beforeAll(async () => {
  folder = temporaryFolder();
  await prepare(folder);
  redis = await RedisServer.start();
  server = await SluiceServer.start(folder, {
    args: ["--redis-url", redis.url, "--sql-url", `sqlite:${join(folder, "sluice.db")}`, "--region", "eu-west"],
    environment: { SLUICE_ROOT_KEY: ROOT },
  });
  browser = await TestBrowser.start();
  let turn = 0;
  load = setInterval(() => {
    for (const { name, limit, users } of NAMESPACES) {
      const user = 1 + Math.floor(users * ((turn++ * 0.618_034) % 1) ** 2.5);
      void server
        .post("limit", { namespace: name, identifier: `user_${user}`, limit, duration: 60_000 })
        .catch(() => {});
    }
  }, 50);
});
afterAll(async () => {
  clearInterval(load);
  await browser.close();
  await server.stop("SIGKILL");
  await redis.stop();
  removeFolder(folder);
});

/** Namespaces, overrides, and an hour that was. */
async function prepare(dataDir: string): Promise<void> {
  const store = await openAdminStore({ sqlUrl: null, dataDir }, SYSTEM);
  await bootstrap(store, ROOT, SYSTEM);
  const nowMs = Date.now() - (Date.now() % 60_000);
  for (const [at, { name }] of NAMESPACES.entries()) {
    const { id } = await store.createNamespace("default", name, "cli:operator");
    const rows = Array.from({ length: 58 }, (_, minute): UsageRow => rowOf(id, nowMs - (58 - minute) * 60_000, at + 1));
    await store.addUsage(rows);
    await store.addUsage(rows.map((row) => ({ ...row, subjectId: "default" })));
    if (name !== "api.public") continue;
    for (const [identifier, limit] of [
      ["premium_*", 1_000],
      ["partner_acme", 5_000],
      ["abuser_7", 0],
    ] as const) {
      const override = {
        workspaceId: "default",
        namespaceId: id,
        identifier,
        limit,
        durationMs: 60_000,
        isShadow: false,
      };
      await store.setOverride(override, "cli:operator");
    }
  }
  await store.close();
}

function rowOf(subjectId: string, atMs: number, phase: number): UsageRow {
  const wave = 1 + 0.5 * Math.sin(atMs / 400_000 + phase);
  const [allowed, denied] = [Math.round(700 * wave), Math.round(220 * wave * wave)];
  return { subjectId, span: "minute", atMs, allowed, denied, shadowed: 0, degraded: 0, cost: allowed };
}

const VIEWS = [
  ["overview", ""],
  ["namespace", "#/namespaces/api.public"],
  ["key", "#/key/login.attempts/user_1/4/60000"],
  ["changes", "#/admin/changes"],
  ["keys", "#/admin/keys"],
  ["server", "#/admin/server"],
] as const;

test.each(isForDocs ? VIEWS : VIEWS.slice(2, 3))(
  "a picture of %s",
  async (name, hash) => {
    for (const theme of isForDocs ? (["light", "dark"] as const) : (["light"] as const)) {
      const page = await browser.open(`${server.url}/ui${hash}`, { theme });
      await signIn(page, ROOT);
      await page.locator("table:visible, .verdict").first().waitFor();
      if (isForDocs) await page.waitForTimeout(name === "overview" ? 20_000 : 2_000);
      const bytes = await pictureOf(page, `${name}-${theme}`);
      expect(bytes).toBeGreaterThan(10_000);
      await page.context().close();
    }
    expect(browser.troubles).toEqual([]);
  },
  120_000,
);

async function pictureOf(page: Page, name: string): Promise<number> {
  const target = fileURLToPath(new URL("../../docs/ui", import.meta.url));
  if (isForDocs) mkdirSync(target, { recursive: true });
  const picture = await page.screenshot(isForDocs ? { path: join(target, `${name}.png`), fullPage: true } : {});
  return picture.length;
}
