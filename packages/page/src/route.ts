/** Where the page is: the part of the address behind `#`. Names in it are escaped; the key never is in it. */
import { signal } from "@preact/signals";

export interface Place {
  /** `overview`, `namespaces`, `key`, `admin`; the first one is where the page starts. */
  readonly view: string;
  readonly parts: readonly string[];
}

export const place = signal<Place>(placeOf(location.hash));

addEventListener("hashchange", () => {
  place.value = placeOf(location.hash);
});

export function go(...parts: readonly string[]): void {
  location.hash = hrefOf(...parts);
}

export function hrefOf(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

function placeOf(hash: string): Place {
  const [view = "", ...parts] = hash.replace(/^#\/?/, "").split("/").map(decoded);
  return { view: view === "" ? "overview" : view, parts };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
