// Reports each V8 flag that a program sets, and sets it.
const v8 = require("node:v8");
const set = v8.setFlagsFromString;
v8.setFlagsFromString = (flags) => {
  process.stderr.write(`v8 flag ${flags}\n`);
  set(flags);
};
