/**
 * Installs the npm packages of a suite's own folder, if its lock file has changed since. Call it before the first import of one of them:
 *
 *   installSuitePackages(import.meta.dirname);
 *   const { Unkey } = await import("@unkey/api");
 *
 * A new folder is added to SUITE_FOLDERS in scripts/suite-packages.mjs and to the workspaces in knip.jsonc.
 */
import { installFolders } from "../../scripts/suite-packages.mjs";

export function installSuitePackages(folder: string): void {
  const failure = installFolders([folder]);
  if (failure !== undefined)
    throw new Error(`This suite needs the packages of ${folder}; npm ci failed there:\n${failure}`);
}
