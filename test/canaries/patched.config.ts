/** The configuration of the suites, with the source patched by a canary: SLUICE_CANARY_PATCHES is a JSON list of patches. */
import { defineConfig, mergeConfig } from "vitest/config";
import base from "../../vitest.config.ts";
import type { Patch } from "./canary.ts";
import { patchedTexts } from "./patched-bundle.ts";

const patches = JSON.parse(process.env["SLUICE_CANARY_PATCHES"] ?? "[]") as Patch[];
const texts = patchedTexts(patches);

export default mergeConfig(
  base,
  defineConfig({
    plugins: [{ name: "patches", enforce: "pre", load: (id) => texts.get(id) ?? null }],
    test: { reporters: ["default"] },
  }),
);
