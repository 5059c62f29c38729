#!/usr/bin/env node
// A file that is there before the build: npm makes no command of one that is missing when it installs.
const main = new URL("../dist/main.js", import.meta.url);
await import(main.href);
