import { describe, expect, test } from "vitest";
import { ManualTime } from "../../../../test/support/manual-time.ts";
import { type FollowedPage, PageFollower } from "./page-follower.ts";

/** A follower of a store that answers what it is given, each page after `pageMs`. */
function setUp(fullEvery = 3, pageMs = 0) {
  const time = new ManualTime();
  const asked: (string | null)[] = [];
  const answers: (FollowedPage | Error)[] = [];
  const follower = new PageFollower({
    fullEvery,
    clock: time.clock,
    read: async (cursor) => {
      asked.push(cursor);
      time.pass(pageMs);
      const answer = answers.shift() ?? { cursor: "end" };
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return { time, asked, answers, follower };
}

describe("page follower", () => {
  test("the first call reads everything, later ones read changes, and every n-th call reads everything again", async () => {
    const { asked, answers, follower } = setUp(3);
    for (let i = 1; i <= 5; i++) answers.push({ cursor: `c${i}` });
    for (let i = 0; i < 5; i++) await follower.followOnce(1_000);
    expect(asked).toEqual([null, "c1", "c2", null, "c4"]);
  });

  test("pages of changes are all read, and the cursor moves only after the last", async () => {
    const { asked, answers, follower } = setUp();
    answers.push({ cursor: "c1" }, { cursor: "c2", rest: "c2/1" }, new Error("away"));
    await follower.followOnce(1_000);
    await expect(follower.followOnce(1_000)).rejects.toThrow("away");
    answers.push({ cursor: "c3", rest: "c3/1" }, { cursor: "c3" });
    await follower.followOnce(1_000);
    // A failure is followed by a full pass; changes are then read from where they were last read to the end.
    await follower.followOnce(1_000);
    expect(asked).toEqual([null, "c1", "c2/1", null, "c3/1", "c1"]);
  });

  test("a pass that does not fit the budget goes on in the next call, after the changes", async () => {
    const { asked, answers, follower } = setUp(10, 400);
    answers.push({ cursor: "c1", rest: "1" }, { cursor: "c1", rest: "2" }, { cursor: "c1", rest: "3" });
    await follower.followOnce(1_000);
    expect([asked, follower.isDone]).toEqual([[null, "1", "2"], false]);
    answers.push({ cursor: "c2" }, { cursor: "c1" });
    await follower.followOnce(1_000);
    expect([asked.slice(3), follower.isDone]).toEqual([["c1", "3"], true]);
  });

  test("without a time limit a pass is read to its end", async () => {
    const { asked, answers, follower } = setUp(10, 400);
    answers.push({ cursor: "c", rest: "1" }, { cursor: "c", rest: "2" }, { cursor: "c", rest: "3" }, { cursor: "c" });
    await follower.followOnce(Number.POSITIVE_INFINITY);
    expect([asked.length, follower.isDone, follower.ageMs]).toEqual([4, true, 0]);
  });

  test("a store that lost its rows answers with everything: that is the pass", async () => {
    const { asked, answers, follower } = setUp(3);
    answers.push({ cursor: "c1" }, { cursor: "d1", rest: "d1/1", isAll: true }, { cursor: "d1" });
    for (let i = 0; i < 4; i++) await follower.followOnce(1_000);
    expect(asked).toEqual([null, "c1", "d1/1", "d1", "end"]);
  });

  test("its age grows until an answer was read to its end", async () => {
    const { time, answers, follower } = setUp();
    time.pass(70);
    answers.push(new Error("away"));
    await follower.followOnce(1_000).catch(() => {});
    expect(follower.ageMs).toBe(70);
    await follower.followOnce(1_000);
    expect(follower.ageMs).toBe(0);
  });
});
