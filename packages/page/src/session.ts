/** Who has signed in, and what that key may do: the page shows nothing else. */
import { signal } from "@preact/signals";
import type { Me } from "./answers.ts";
import { call, forget, keep } from "./api.ts";

export const me = signal<Me | null>(null);

/** @throws CallError if the server refuses the key. */
export async function signIn(token: string, isRemembered: boolean): Promise<void> {
  const known = await call<Me>("admin.getKey", {}, token);
  keep(token, isRemembered);
  me.value = known;
}

export function signOut(): void {
  forget();
  me.value = null;
}

/** Whether the key may do this: everywhere, or in this namespace. */
export function may(action: string, namespaceId?: string): boolean {
  const permissions = me.value?.permissions ?? [];
  return permissions.some(
    (permission) =>
      permission === "*" ||
      permission === `ratelimit.*.${action}` ||
      permission === `admin.*.${action}` ||
      (namespaceId !== undefined && permission === `ratelimit.${namespaceId}.${action}`),
  );
}

/** Whether it may read any namespace at all. */
export function mayReadSome(): boolean {
  return (me.value?.permissions ?? []).some(
    (permission) => permission === "*" || permission.endsWith(".read_namespace"),
  );
}

/** Whether it may know and do what concerns the whole server. */
export function mayServe(): boolean {
  return me.value?.workspace.id === "default" && me.value.permissions.includes("*");
}
