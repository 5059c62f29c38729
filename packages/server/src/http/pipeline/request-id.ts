/** Request ids: unique without asking anyone, and quick: what tells two servers apart is drawn once, the rest is counted. */
import { randomBytes } from "node:crypto";

export function requestIds(): () => string {
  const server = randomBytes(8).toString("hex");
  let count = 0;
  return () => {
    count++;
    return `req_${server}${count.toString(36).padStart(8, "0")}`;
  };
}
