/** A reporter for Stryker that names a survivor as soon as it is known: file, line, and what it was changed into. */
import { relative } from "node:path";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";

/** A mutant may replace a whole body: its beginning says which it is. */
const SHOWN_MAX = 100;

class Survivors {
  /** @param {Readonly<import("@stryker-mutator/api/core").MutantResult>} mutant */
  onMutantTested({ status, fileName, location, mutatorName, replacement = "" }) {
    if (status !== "Survived" && status !== "NoCoverage") return;
    const { line, column } = location.start;
    const change = replacement.replaceAll(/\s+/g, " ").slice(0, SHOWN_MAX);
    const place = `${relative("packages/sluice/src", fileName)}:${line}:${column}`;
    console.log(`${status === "Survived" ? "survived" : "not reached"}: ${place} ${mutatorName}: ${change}`);
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, "survivors", Survivors)];
