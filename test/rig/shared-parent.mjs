/**
 * A parent process that holds the origin of its workers (worker.mjs): children of `fork`, or workers of `node:cluster`.
 *
 * Each line on its input is the options of a worker to start. Workers write to its own output. It ends when its input does.
 */
import { fork } from "node:child_process";
import cluster from "node:cluster";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { originHost } from "sluice";

const program = fileURLToPath(new URL("worker.mjs", import.meta.url));
const isCluster = process.argv[2] === "cluster";
const host = originHost();
let living = 0;

if (isCluster) cluster.on("fork", (worker) => host.serve(worker));

/** @param {string} line */
function startWorker(line) {
  if (isCluster) cluster.setupPrimary({ exec: program, args: [line] });
  const worker = isCluster ? cluster.fork() : fork(program, [line]);
  if (!isCluster) host.serve(worker);
  living++;
  const { name } = JSON.parse(line);
  worker.on("exit", (code, signal) => {
    living--;
    console.log(`ended ${name} ${code ?? signal}`);
    if (living === 0) process.exit(0);
  });
}

createInterface({ input: process.stdin }).on("line", startWorker);
