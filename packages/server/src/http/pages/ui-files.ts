/**
 * The files of the live page, which is built into this package: its document, one script, one style sheet, an icon. Read once, at the start.
 *
 * The document may load nothing but these, run nothing inline, be in no frame, and turn no text into script or markup (Trusted Types).
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

export interface UiFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly gzip: Buffer;
}

/** Beside the built server, and where the build puts them as seen from the source. */
const FOLDERS = ["./ui/", "../../../dist/ui/"].map((path) => fileURLToPath(new URL(path, import.meta.url)));

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const FILES = [
  { path: "/ui", name: "index.html", type: "text/html; charset=utf-8" },
  { path: "/ui/page.js", name: "page.js", type: "text/javascript; charset=utf-8" },
  { path: "/ui/page.css", name: "page.css", type: "text/css; charset=utf-8" },
  { path: "/ui/icon.svg", name: "icon.svg", type: "image/svg+xml" },
] as const;

/** By path; null if the page was not built. */
export function readUiFiles(): ReadonlyMap<string, UiFile> | null {
  const folder = FOLDERS.find((one) => FILES.every(({ name }) => existsSync(one + name)));
  if (folder === undefined) return null;
  return new Map(FILES.map(({ path, name, type }) => [path, fileOf(readFileSync(folder + name, "utf8"), type)]));
}

function fileOf(text: string, type: string): UiFile {
  const headers = {
    "content-type": type,
    "content-security-policy": POLICY,
    "cache-control": "no-cache",
    etag: `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    vary: "accept-encoding",
  };
  return { headers, text, gzip: gzipSync(text, { level: 9 }) };
}
