import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { assert, describe, expect, test } from "vitest";
import { HostError } from "../../../permissions/mod.ts";
import { planConfinement } from "../../../runtime/mod.ts";
import { attackUnder } from "./attack.ts";

const best = planConfinement("best");
const isStrong = best.level === "strong";
const hasUserNamespaces = spawnSync("unshare", ["-Ur", "true"]).status === 0;
const mustBeStrong = process.env.SALLYPORT_TEST_STRONG === "1";

describe("what code that took a worker over can do", () => {
  test.skipIf(!isStrong && !mustBeStrong)(
    "[T01] under strong confinement: nothing (skipped where bubblewrap cannot run)",
    async () => {
      assert(isStrong, `bubblewrap must run here: ${best.reasons.join("; ")}`);
      const results = await attackUnder(best);
      expect(Object.entries(results).filter(([, result]) => result === "succeeded")).toEqual([]);
      expect(Object.keys(results).length).toBeGreaterThan(12);
      expect(results["signal the host"]).toBe("refused: ESRCH");
      expect(results["open a SQLite file"]).toBe("refused: ERR_UNKNOWN_BUILTIN_MODULE");
    },
  );

  test("[T01] under weak confinement: only what the permission model has no gate for", async () => {
    const results = await attackUnder(planConfinement("best", ["bubblewrap", "uid"]));
    const succeeded = Object.entries(results).filter(([, result]) => result === "succeeded").map(([name]) =>
      name
    );
    // On Node 24 the permission model does not gate the network.
    const expected = ["signal the host", "kill a process of the host's user"];
    const network = [
      "connect to a listener of the host",
      "connect to a listener of the host by name",
      "open the host's inspector by SIGUSR1",
    ];
    const allowed = new Set([...expected, ...(process.version.startsWith("v24.") ? network : [])]);
    expect(succeeded.filter((name) => !allowed.has(name))).toEqual([]);
    expect(succeeded).toEqual(expect.arrayContaining(expected)); // why weak is called weak
    expect(results["see the environment"]).toBe("refused: it is empty");
  });

  test.skipIf(process.getuid?.() !== 0)(
    "[T01] under a user of its own: not the host's processes (skipped where the host is not root)",
    async () => {
      const plan = planConfinement("best", ["bubblewrap"]);
      if (plan.level !== "medium") return expect(plan.reasons.join()).toContain("cannot reach");
      const results = await attackUnder(plan);
      expect(results["signal the host"]).toBe("refused: EPERM");
      expect(results["kill a process of the host's user"]).toBe("refused: EPERM");
    },
  );
});

describe("what a host accepts", () => {
  test("[T01] a host that wants more than there is does not start, and one that takes the best does", () => {
    const without = ["bubblewrap", "uid"] as const;
    expect(() => planConfinement("strong", without)).toThrow(HostError);
    expect(() => planConfinement("strong", without)).toThrow(/Install bubblewrap, or accept less/);
    expect(planConfinement("weak", without).level).toBe("weak");
    expect(planConfinement("best", without)).toMatchObject({
      level: "weak",
      reasons: expect.arrayContaining([expect.stringContaining("bubblewrap")]),
    });
  });

  test.skipIf(!hasUserNamespaces)(
    "[T01] root that has no other user, as in a rootless container, is weak, and says why",
    () => {
      const module = JSON.stringify(join(import.meta.dirname, "../../../runtime/mod.ts"));
      const code = `import { planConfinement } from ${module};
        console.log(JSON.stringify(planConfinement("best", ["bubblewrap"])));`;
      const args = ["-Ur", process.execPath, "--input-type=module", "-e", code];
      const { stdout } = spawnSync("unshare", args, { encoding: "utf8" });
      expect(JSON.parse(stdout)).toEqual({
        level: "weak",
        reasons: [
          "bubblewrap is not installed: install bubblewrap",
          expect.stringMatching(/^the host cannot start a process as another user: .*EINVAL/),
        ],
      });
    },
  );

  test("[T34] the environment cannot choose the jailer", () => {
    const before = process.env.PATH;
    process.env.PATH = "/nonexistent";
    try {
      expect(planConfinement("best").level).toBe(best.level);
      if (isStrong) expect(existsSync(planConfinement("best").bubblewrap!)).toBe(true);
    } finally {
      process.env.PATH = before;
    }
  });
});
