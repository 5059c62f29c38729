/**
 * Promises only. Biome formats and lints everything else; its own promise rules miss a floating call into a driver or a
 * Node builtin, and an async function given to a timer or put into an object whose type says `() => void`.
 */
import tseslint from "typescript-eslint";

/** @type {import("typescript-eslint").ConfigArray[number]["rules"]} */
const rules = {
  "@typescript-eslint/await-thenable": "error",
  "@typescript-eslint/no-floating-promises": "error",
  "@typescript-eslint/no-misused-promises": "error",
  "@typescript-eslint/return-await": ["error", "error-handling-correctness-only"],
};

/**
 * @param {string} project a tsconfig
 * @returns {import("typescript-eslint").ConfigArray[number]}
 */
const typed = (project) => ({
  plugins: { "@typescript-eslint": tseslint.plugin },
  languageOptions: {
    parser: tseslint.parser,
    parserOptions: { project, tsconfigRootDir: import.meta.dirname },
  },
  linterOptions: { reportUnusedDisableDirectives: "error" },
  rules,
});

export default tseslint.config(
  { ignores: ["**/node_modules/**", "**/dist/**", "**/coverage/**", ".stryker-tmp/**"] },
  { files: ["**/*.ts", "**/*.mjs"], ignores: ["packages/page/**"], ...typed("./tsconfig.json") },
  { files: ["packages/page/src/**/*.ts", "packages/page/src/**/*.tsx"], ...typed("./packages/page/tsconfig.json") },
);
