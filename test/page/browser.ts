/**
 * A real browser for the suites of the page: Debian's Chromium, without a window, driven by playwright-core.
 *
 * Every page that is opened here reports what must never happen: an error, a dialog, a request to elsewhere, a violation of the content policy.
 */
import { DEBIAN, debianBinary, prepareBinaries } from "../rig/debian-binary.ts";
import { installSuitePackages } from "../rig/suite-packages.ts";

prepareBinaries(DEBIAN.chromium);
installSuitePackages(import.meta.dirname);

const { chromium } = await import("playwright-core");
const { default: axe } = await import("axe-core");
type Browser = import("playwright-core").Browser;
export type Page = import("playwright-core").Page;

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Look {
  readonly theme?: "light" | "dark";
  readonly width?: number;
}

export class TestBrowser {
  readonly #browser: Browser;
  /** What must never happen. */
  readonly troubles: string[] = [];

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async start(): Promise<TestBrowser> {
    const executablePath = debianBinary(DEBIAN.chromium);
    return new TestBrowser(await chromium.launch({ executablePath, headless: true, args: ARGUMENTS }));
  }

  async open(url: string, { theme = "light", width = 1_280 }: Look = {}): Promise<Page> {
    const context = await this.#browser.newContext({ colorScheme: theme, viewport: { width, height: 900 } });
    const page = await context.newPage();
    page.on("pageerror", (error) => this.troubles.push(`error: ${error.message}`));
    page.on("console", (message) => {
      if (/Content Security Policy|Trusted/i.test(message.text())) this.troubles.push(message.text());
    });
    page.on("dialog", (dialog) => {
      this.troubles.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    const { origin } = new URL(url);
    page.on("request", (request) => {
      if (!/^(blob|data):/.test(request.url()) && new URL(request.url()).origin !== origin) {
        this.troubles.push(`request to ${request.url()}`);
      }
    });
    await page.goto(url);
    return page;
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel("Key", { exact: true }).fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** What axe-core finds on a page, in words. */
export async function findingsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async () => {
    const { axe: here } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    return (await here.run()).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  });
  return violations;
}
