/**
 * The path of a program of Debian's packages. A program that is missing is installed if this process may; otherwise one sentence
 * says what to install.
 *
 * `npm test` installs everything before the suites start (scripts/debian-packages.mjs). What stands here is for a suite that is run
 * alone.
 */
import { type DebianBinary, installMissing, look } from "../../scripts/debian-packages.mjs";

export { DEBIAN } from "../../scripts/debian-packages.mjs";

export function debianBinary(wanted: DebianBinary): string {
  installMissing([wanted]);
  const path = look(wanted);
  if (path !== undefined) return path;
  const { names, package: name } = wanted;
  throw new Error(`These suites need ${names[0]}: install Debian's ${name} (apt-get install ${name}).`);
}

/**
 * Installs what is missing, and leaves the complaint to the first use. The servers of the rig call this when they are imported: an
 * import has no time limit, and the hook that starts a server has one.
 */
export function prepareBinaries(...wanted: DebianBinary[]): void {
  installMissing(wanted);
}
