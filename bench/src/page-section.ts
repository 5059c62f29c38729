/** A section of a page that another command writes than the one that writes the rest: from its heading to the end. */

/** The page with this as its last section, in place of the one it had. */
export function withSection(page: string, heading: string, section: string): string {
  return `${withoutSection(page, heading)}\n${section.trimEnd()}\n`;
}

/** The last section, from its heading on; empty if the page has none. */
export function sectionOf(page: string, heading: string): string {
  const at = page.indexOf(`\n${heading}\n`);
  return at === -1 ? "" : page.slice(at + 1);
}

function withoutSection(page: string, heading: string): string {
  return page.slice(0, page.length - sectionOf(page, heading).length).replace(/\n*$/, "\n");
}
