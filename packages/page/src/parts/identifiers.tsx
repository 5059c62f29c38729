/** Who used a namespace most, or was denied most, with the bounds of each count. */
import type { Rule, TopIdentifiers } from "../answers.ts";
import { count } from "../format.ts";
import { hrefOf } from "../route.ts";
import { Empty } from "./states.tsx";

export interface RankedIdentifier {
  readonly namespaceId: string;
  /** Shown where identifiers of several namespaces stand together. */
  readonly namespace?: string;
  readonly identifier: string;
  readonly atLeast: number;
  readonly atMost: number;
  readonly rule?: Rule | undefined;
}

export function rankedOf(
  { namespaceId, identifiers }: TopIdentifiers,
  rule?: Rule,
  namespace?: string,
): RankedIdentifier[] {
  return identifiers.map((one) => ({ namespaceId, rule, ...one, ...(namespace === undefined ? {} : { namespace }) }));
}

function keyHref({ namespaceId, identifier, rule }: RankedIdentifier): string {
  return rule === undefined
    ? hrefOf("key", namespaceId, identifier)
    : hrefOf("key", namespaceId, identifier, String(rule.limit), String(rule.duration));
}

export function Identifiers({
  ranked,
  what,
  none,
}: {
  ranked: readonly RankedIdentifier[];
  what: string;
  none: string;
}) {
  if (ranked.length === 0) return <Empty title={none} />;
  const most = Math.max(1, ...ranked.map(({ atMost }) => atMost));
  const hasNamespace = ranked.some(({ namespace }) => namespace !== undefined);
  return (
    <table class="ranked">
      <thead>
        <tr>
          <th scope="col">Identifier</th>
          {hasNamespace ? <th scope="col">Namespace</th> : null}
          <th scope="col" class="number">
            {what}
          </th>
        </tr>
      </thead>
      <tbody>
        {ranked.map((one) => (
          <tr key={`${one.namespaceId} ${one.identifier}`}>
            <td class="name">
              <a href={keyHref(one)}>{one.identifier}</a>
              <meter class="share" min={0} max={most} value={one.atMost} aria-hidden="true" />
            </td>
            {hasNamespace ? <td class="name muted">{one.namespace}</td> : null}
            <td class="number" title={`between ${count(one.atLeast)} and ${count(one.atMost)}`}>
              {one.atLeast === one.atMost ? count(one.atMost) : `${count(one.atLeast)}–${count(one.atMost)}`}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
