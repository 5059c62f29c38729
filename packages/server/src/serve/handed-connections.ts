/**
 * Connections that the parent has handed to a worker which died before it accepted them: at most one per death.
 *
 * node:cluster closes its copy of a connection when the worker accepts it, and forgets a worker that does not reply. The copy would stay open for
 * the life of the parent, and its client would wait that long. This replies for the dead worker, so that another one gets the connection, with
 * the request still unread; if there is none, the connection is closed.
 *
 * It reads node:cluster's own messages (`newconn` and its `ack`). If a Node release changes them, nothing happens here, and a test fails.
 */
import type { Worker } from "node:cluster";

interface Closable {
  close(): void;
}

/** A message of node:cluster between the parent and a worker. */
interface ClusterMessage {
  readonly cmd?: unknown;
  readonly act?: unknown;
  readonly seq?: unknown;
  readonly ack?: unknown;
}

/** Watches the connections that this worker gets. `hasOthers`: whether another worker can take one when it has ended. */
export function returnConnections(worker: Worker, hasOthers: () => boolean): void {
  const { process: child } = worker;
  const handed = new Map<unknown, Closable>();
  const send = child.send.bind(child) as (...args: unknown[]) => boolean;
  child.send = ((message: ClusterMessage, handle?: unknown, ...rest: unknown[]) => {
    const isHanded = message.cmd === "NODE_CLUSTER" && message.act === "newconn" && isClosable(handle);
    if (isHanded) handed.set(message.seq, handle);
    return send(message, handle, ...rest);
  }) as typeof child.send;
  child.on("internalMessage", ({ ack }: ClusterMessage) => handed.delete(ack));
  // Not at the exit: replies that the worker sent before it died are read until the channel is at its end. Nor at `disconnect`, which
  // Node does not report if a handle was on its way.
  child.once("close", () => {
    for (const [ack, connection] of handed) {
      if (hasOthers()) child.emit("internalMessage", { cmd: "NODE_CLUSTER", ack, accepted: false });
      else connection.close();
    }
    handed.clear();
  });
}

function isClosable(handle: unknown): handle is Closable {
  return typeof handle === "object" && handle !== null && "close" in handle;
}
