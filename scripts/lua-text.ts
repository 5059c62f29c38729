/** A plugin, for the build and for the tests: a script file is imported as its text, without its header and comments. */

interface Transformed {
  readonly code: string;
  readonly moduleType: "js";
}

interface LuaTextPlugin {
  readonly name: string;
  transform(code: string, id: string): Transformed | undefined;
}

export function luaText(): LuaTextPlugin {
  return {
    name: "lua-text",
    transform(code, id) {
      if (!id.endsWith(".lua")) return undefined;
      const text = code
        .replace(/--\[\[[\s\S]*?\]\]\n/g, "")
        .replaceAll(/^ *--.*\n/gm, "")
        .replaceAll(/^ +/gm, "");
      return { code: `export default ${JSON.stringify(text)};`, moduleType: "js" };
    },
  };
}
