import { describe, expect, test } from "vitest";
import { UnderWay } from "./under-way.ts";

describe("under way", () => {
  test("settles at once if nothing is under way", async () => {
    await expect(new UnderWay().settled()).resolves.toBeUndefined();
  });

  test("settles after the last promise, whether it was kept or broken, and whoever asks", async () => {
    const underWay = new UnderWay();
    const order: string[] = [];
    let keep = () => {};
    let break_ = () => {};
    const kept = underWay.add(new Promise<void>((resolve) => (keep = resolve)));
    const broken = underWay.add(new Promise<void>((_, reject) => (break_ = () => reject(new Error("broken")))));
    const all = [underWay.settled(), underWay.settled()].map((settled) => settled.then(() => order.push("settled")));
    keep();
    await kept;
    order.push("kept");
    expect(underWay.count).toBe(1);
    break_();
    await broken.catch(() => order.push("broken"));
    await Promise.all(all);
    expect(order).toEqual(["kept", "broken", "settled", "settled"]);
    expect(underWay.count).toBe(0);
  });

  test("returns the promise that it was given", () => {
    const promise = Promise.resolve(1);
    expect(new UnderWay().add(promise)).toBe(promise);
  });
});
