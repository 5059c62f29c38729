/** A script's text: the build puts it into the package (scripts/lua-text.ts at the root). */
declare module "*.lua" {
  const text: string;
  export default text;
}
