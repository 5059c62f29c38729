/** What the limiter meets, in the log: troubles as warnings, their ends as information. */
import type { EventListener, LimiterEvent } from "sluice";
import type { Log } from "../log/log.ts";

export function eventLog(log: Log): EventListener {
  return (event) => {
    const { kind, ...fields } = event;
    log[isGood(event) ? "info" : "warn"](`limiter.${kind}`, fields);
  };
}

function isGood(event: LimiterEvent): boolean {
  switch (event.kind) {
    case "breaker":
      return event.state !== "open";
    case "connection":
      return event.state === "up";
    case "degraded":
      return event.state === "ended";
    case "recovered":
      return true;
    case "closed":
      return event.lost === 0;
    default:
      return false;
  }
}
