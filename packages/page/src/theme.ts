/** Light or dark: what the system says, until the reader chooses. */
import { effect, signal } from "@preact/signals";

export type Theme = "light" | "dark";

const STORED = "sluice.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export const theme = signal<Theme>(chosen() ?? (system.matches ? "dark" : "light"));

system.addEventListener("change", () => {
  if (chosen() === null) theme.value = system.matches ? "dark" : "light";
});

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});

export function toggle(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(STORED, theme.value);
}

function chosen(): Theme | null {
  const stored = localStorage.getItem(STORED);
  return stored === "dark" || stored === "light" ? stored : null;
}
