/** A certificate for 127.0.0.1 that nobody vouches for but itself, made now, in a folder that every user may read. */
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import { temporaryFolder } from "./child-processes.ts";
import { DEBIAN, debianBinary } from "./debian-binary.ts";

export interface Certificate {
  readonly folder: string;
  readonly keyFile: string;
  readonly certFile: string;
  /** What to trust. */
  readonly ca: string;
}

export function makeCertificate(): Certificate {
  const folder = temporaryFolder();
  const [keyFile, certFile] = [`${folder}/key.pem`, `${folder}/cert.pem`];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
  const files = ["-keyout", keyFile, "-out", certFile];
  execFileSync(debianBinary(DEBIAN.openssl), ["req", "-x509", ...curve, "-nodes", "-days", "2", ...files, ...subject], {
    stdio: "ignore",
  });
  chmodSync(folder, 0o755);
  for (const file of [keyFile, certFile]) chmodSync(file, 0o644);
  return { folder, keyFile, certFile, ca: readFileSync(certFile, "utf8") };
}
