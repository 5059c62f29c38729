/**
 * Renews docs/plans: one report for every plan there, made by the planner itself. Run it as `npm run plans`.
 *
 * A page shows the plan, the command and what the command prints. The same seed gives the same page.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./steps.mjs";

const folder = join("docs", "plans");
const command = join("packages", "server", "bin", "sluice.mjs");

for (const file of readdirSync(join(root, folder)).filter((name) => name.endsWith(".yaml"))) {
  const name = file.replace(/[.]yaml$/, "");
  const path = `docs/plans/${file}`;
  const html = `docs/plans/${name}.html`;
  const args = [command, "simulate", "--file", path, "--html", html];
  const report = execFileSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const plan = readFileSync(join(root, path), "utf8");
  const title = name.replaceAll("-", " ");
  writeFileSync(
    join(root, folder, `${name}.md`),
    `# A plan: ${title}\n\n\`\`\`yaml\n${plan}\`\`\`\n\nMade by \`npm run plans\`; the same with plots: [${name}.html](${name}.html).\n\n` +
      `\`\`\`sh\nnpx sluice simulate --file ${path}\n\`\`\`\n\n\`\`\`\n${report}\`\`\`\n`,
  );
  console.log(`docs/plans/${name}.md`);
}
