/** A region that scrolls where its table is wider or longer than the page. */
import type { ComponentChildren } from "preact";

export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls with the arrow keys, which needs the focus.
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
