/** Bundles the hunt with the source as it is, but for the patches: what the child process runs. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import type { Patch } from "./canary.ts";

const here = dirname(fileURLToPath(import.meta.url));
const packages = join(here, "../../packages");

function pathOf(file: string): string {
  return file.startsWith("sim/")
    ? join(packages, "sim/src", file.slice("sim/".length))
    : join(packages, "sluice/src", file);
}

/** The text of a file of the library or the simulator with its patches made. Throws if one does not fit exactly once. */
function patchedText(file: string, patches: readonly Patch[]): string {
  let text = readFileSync(pathOf(file), "utf8");
  for (const { find, replace } of patches) {
    const times = text.split(find).length - 1;
    if (times !== 1) throw new Error(`${file}: found ${times} times instead of once:\n${find}`);
    text = text.replace(find, () => replace);
  }
  return text;
}

/** The texts of all files that are patched, by path. */
export function patchedTexts(patches: readonly Patch[]): ReadonlyMap<string, string> {
  const files = new Set(patches.map(({ file }) => file));
  return new Map(
    [...files].map((file) => {
      const own = patches.filter((patch) => patch.file === file);
      return [pathOf(file), patchedText(file, own)];
    }),
  );
}

/** Writes the bundle to `into`. */
export async function bundlePatched(patches: readonly Patch[], into: string): Promise<void> {
  const texts = patchedTexts(patches);
  const met = new Set<string>();
  const bundle = await rolldown({
    input: join(here, "hunt.ts"),
    platform: "node",
    resolve: { alias: { "@sluice/sim": pathOf("sim/index.ts"), sluice: pathOf("index.ts") } },
    plugins: [
      {
        name: "patches",
        load(id) {
          const code = texts.get(id);
          if (code === undefined) return null;
          met.add(id);
          return { code, moduleType: "ts" };
        },
      },
    ],
  });
  await bundle.write({ file: into, format: "esm" });
  await bundle.close();
  for (const file of texts.keys()) if (!met.has(file)) throw new Error(`${file} is not part of the simulator`);
}
