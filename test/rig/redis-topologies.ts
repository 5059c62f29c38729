/** More than one Redis: a master with a replica and a Sentinel, a three-node Cluster, and one that speaks TLS. */
import { makeCertificate } from "./certificate.ts";
import { removeFolder } from "./child-processes.ts";
import { freePort } from "./free-port.ts";
import { poll } from "./poll.ts";
import { RedisServer } from "./redis-server.ts";
import { askOnce } from "./resp-client.ts";

export interface Watched {
  readonly name: string;
  readonly master: RedisServer;
  readonly replica: RedisServer;
  readonly sentinel: RedisServer;
  /** From now on the replica hears nothing of its master. */
  lag(): Promise<void>;
  stop(): Promise<void>;
}

/** A master, its replica, and a Sentinel that promotes the replica after half a second of silence. */
export async function startWatched(): Promise<Watched> {
  const name = "sluice";
  const master = await RedisServer.start();
  // The replica has a user of its own, which can be locked out.
  await master.ask("ACL", "SETUSER", "replica", "on", ">replica", "~*", "&*", "+@all");
  const replica = await RedisServer.start({
    config: [
      ["replicaof", "127.0.0.1", master.port],
      ["masteruser", "replica"],
      ["masterauth", "replica"],
    ],
  });
  const sentinel = await RedisServer.start({
    flags: ["--sentinel"],
    config: [
      ["sentinel", "monitor", name, "127.0.0.1", master.port, 1],
      ["sentinel", "down-after-milliseconds", name, 500],
      ["sentinel", "failover-timeout", name, 2_000],
    ],
  });
  await poll("the replica is in step", async () => {
    const info = String(await askOnce(replica.port, "INFO", "replication"));
    return info.includes("master_link_status:up");
  });
  await poll("the sentinel knows the replica", async () => {
    const replicas = await askOnce(sentinel.port, "SENTINEL", "REPLICAS", name);
    return Array.isArray(replicas) && replicas.length === 1;
  });
  const stop = async () => {
    for (const server of [sentinel, replica, master]) await server.stop();
  };
  const lag = async () => {
    await master.ask("ACL", "SETUSER", "replica", "off");
    await master.ask("CLIENT", "KILL", "TYPE", "replica");
  };
  return { name, master, replica, sentinel, lag, stop };
}

export interface ThreeNodes {
  readonly nodes: readonly RedisServer[];
  stop(): Promise<void>;
}

const SLOTS = 16_384;

/** A Cluster of three masters, each with a third of the hash slots. */
export async function startCluster(): Promise<ThreeNodes> {
  const nodes: RedisServer[] = [];
  for (let i = 0; i < 3; i++) {
    nodes.push(await RedisServer.start({ isClusterNode: true, config: [["cluster-node-timeout", 2_000]] }));
  }
  const [first, ...others] = nodes;
  for (const [i, node] of nodes.entries()) {
    const from = Math.ceil((SLOTS * i) / 3);
    const to = Math.ceil((SLOTS * (i + 1)) / 3) - 1;
    await node.ask("CLUSTER", "ADDSLOTSRANGE", from, to);
    await node.ask("CLUSTER", "SET-CONFIG-EPOCH", i + 1);
  }
  for (const node of others) await first!.ask("CLUSTER", "MEET", "127.0.0.1", node.port);
  for (const node of nodes) {
    await poll("the cluster is whole", async () => {
      const info = String(await node.ask("CLUSTER", "INFO"));
      return info.includes("cluster_state:ok") && info.includes("cluster_known_nodes:3");
    });
  }
  const stop = async () => {
    for (const node of nodes) await node.stop();
  };
  return { nodes, stop };
}

export interface Encrypted {
  readonly server: RedisServer;
  readonly port: number;
  /** The certificate to trust. */
  readonly ca: string;
  stop(): Promise<void>;
}

/** A Redis with a TLS port, and a certificate made for it now. */
export async function startEncrypted(): Promise<Encrypted> {
  const { folder, keyFile, certFile, ca } = makeCertificate();
  const port = await freePort();
  const server = await RedisServer.start({
    config: [
      ["tls-port", port],
      ["tls-cert-file", certFile],
      ["tls-key-file", keyFile],
      ["tls-ca-cert-file", certFile],
      ["tls-auth-clients", "no"],
    ],
  });
  const stop = async () => {
    await server.stop();
    removeFolder(folder);
  };
  return { server, port, ca, stop };
}
