/** What stands where data would be: while it loads, where there is none, where it cannot be read, and where the key may not read it. */
import type { ComponentChildren } from "preact";
import type { Loaded } from "./use-data.ts";

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <p class="state-title">{title}</p>
      {children === undefined ? null : <p class="muted">{children}</p>}
    </div>
  );
}

export function Forbidden({ what, need }: { what: string; need: string }) {
  return (
    <div class="state" role="note">
      <p class="state-title">This key may not {what}.</p>
      <p class="muted">
        It needs the permission <code>{need}</code>.
      </p>
    </div>
  );
}

export function Failed({ message, retry }: { message: string; retry: () => void }) {
  return (
    <div class="state" role="alert">
      <p class="state-title">That did not work.</p>
      <p class="muted">{message}</p>
      <button type="button" onClick={retry}>
        Try again
      </button>
    </div>
  );
}

export function Loading({ lines = 4 }: { lines?: number }) {
  return (
    <div class="loading" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} class="loading-line" />
      ))}
    </div>
  );
}

/** The data, or what stands in its place. */
export function Show<Data>(props: {
  loaded: Loaded<Data>;
  what: string;
  need: string;
  lines?: number;
  children: (data: Data) => ComponentChildren;
}) {
  const { loaded, what, need, lines, children } = props;
  if (loaded.data !== null) return <>{children(loaded.data)}</>;
  if (loaded.error === null) return <Loading lines={lines ?? 4} />;
  if (loaded.error.status === 403) return <Forbidden what={what} need={need} />;
  return <Failed message={loaded.error.message} retry={loaded.reload} />;
}
