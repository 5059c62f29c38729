/** The frameworks that `npm test` covers, at their current major versions. */
import { installSuitePackages } from "../../rig/suite-packages.ts";
import type { Framework } from "../framework.ts";
import {
  type ExpressModule,
  expressFramework,
  type FastifyModule,
  fastifyFramework,
  fetchFramework,
  type HonoModule,
  honoFramework,
  type KoaModule,
  koaFramework,
  nodeFramework,
} from "../framework-servers.ts";

installSuitePackages(import.meta.dirname);
const { default: express } = await import("express");
const { fastify } = await import("fastify");
const { Hono } = await import("hono");
const { serve } = await import("@hono/node-server");
const { default: Koa } = await import("koa");

export const FRAMEWORKS: readonly Framework[] = [
  nodeFramework,
  expressFramework("Express 5", express as unknown as ExpressModule),
  fastifyFramework("Fastify 5", fastify as unknown as FastifyModule),
  honoFramework("Hono 4", Hono as unknown as HonoModule, serve as never),
  koaFramework("Koa 3", Koa as unknown as KoaModule),
  fetchFramework("fetch", serve as never),
];
