/** The child process: takes one task, answers with its figures and ends. */
import { cases } from "./cases.ts";
import { type Figures, noFigures, type Task } from "./task.ts";

process.once("message", (task: Task) => {
  perform(task).then(
    (figures) => process.send?.(figures, () => process.exit(0)),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
      process.exit(1);
    },
  );
});

async function perform(task: Task): Promise<Figures> {
  const figures = noFigures();
  switch (task.kind) {
    case "speed": {
      const { runStart } = await import("./speed.ts");
      for (const subject of cases) {
        if (task.caseNames.includes(subject.name)) figures.speed.push(...(await runStart(subject, task.options)));
      }
      break;
    }
    case "memory": {
      const { measureMemory } = await import("./memory.ts");
      for (const name of task.contenders) figures.memory.push(await measureMemory(name, task.keys));
      break;
    }
    case "layers": {
      const { measureLayers } = await import("./layers.ts");
      figures.layers.push(await measureLayers(task.subject, task.options));
      break;
    }
    case "stalls": {
      const { measureStalls } = await import("./stalls.ts");
      for (const subject of task.subjects) figures.stalls.push(await measureStalls(subject, task.options));
      break;
    }
    case "library": {
      const { measureLibrary } = await import("./cold/library.ts");
      figures.library.push(await measureLibrary(task.subject, task.options));
      break;
    }
    case "shared-key": {
      const { measureSharedKey } = await import("./cold/shared-key.ts");
      figures.sharedKey.push(await measureSharedKey(task.options));
      break;
    }
  }
  return figures;
}
