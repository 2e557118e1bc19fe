/** Programs that guests start: decided about, confined, bounded, and ended with all that they started. */
import { spawn } from "node:child_process";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, describe, expect, test } from "vitest";
import {
  type BundleFiles,
  COMMAND_LIMITS,
  type CommandLimits,
  diskFiles,
  type Powers,
  rememberedJail,
  sandboxedRun,
} from "../../../runtime/mod.ts";
import { temporary } from "../../bundler/support.ts";
import { Bench, type BenchOptions, type GuestOptions } from "../harness.ts";

const jail = rememberedJail();
const obstacle = await jail().then((found) => typeof found === "string" ? found : null);
const benches: Bench[] = [];
afterAll(() => Promise.all(benches.map((bench) => bench.pool.close())));

/** A bench whose guests may start programs. */
function benchOf(options: BenchOptions & Parameters<typeof sandboxedRun>[0] = {}): Bench {
  const powers = { files: diskFiles(), run: sandboxedRun({ jail, ...options }) } as Powers;
  const bench = new Bench({ ...options, powers });
  benches.push(bench);
  return bench;
}

const SH = { permissions: { run: ["/bin/sh"] } };
/** Runs a line of shell and gives what came of it as texts. */
const SHELL = `async (line) => {
  const { code, success, stdout, stderr } = await new Deno.Command("/bin/sh", { args: ["-c", line] }).output();
  return { code, success, out: new TextDecoder().decode(stdout), err: new TextDecoder().decode(stderr) };
}`;
/** Runs a command as the input says and gives what came of it, or the error's name and code. */
const ANY = `async ([name, { bytes, ...options }]) => {
  if (bytes) options.stdin = new Uint8Array(bytes);
  try {
    const { code, stdout } = await new Deno.Command(name, options).output();
    return [code, new TextDecoder().decode(stdout)];
  } catch (error) { return [error.name, error.code ?? null]; }
}`;

function limitsOf(limits: Partial<CommandLimits>): CommandLimits {
  return { ...COMMAND_LIMITS, ...limits };
}

function bundleOf(
  root: string,
  files: Readonly<Record<string, string>>,
  pinned = Object.keys(files),
): BundleFiles {
  return {
    root,
    isMutable: false,
    isPinned: (path) => pinned.includes(path.slice(root.length + 1)),
    real: (path) => path,
    bytes: (path) => Buffer.from(files[path.slice(root.length + 1)] ?? ""),
    stat: () => ({ isFile: true, isDirectory: false, isSymlink: false, size: 0, mtimeMs: null }),
    list: () => [],
  };
}

const mustRun = process.env.SALLYPORT_TEST_STRONG === "1";

describe.skipIf(obstacle !== null && !mustRun)("programs in their sandbox", { timeout: 60_000 }, () => {
  const bench = benchOf();
  const shell = async (line: string, options: GuestOptions = SH, on = bench) => {
    const outcome = await on.once(SHELL, { ...options, input: line });
    if (outcome.error !== undefined) throw outcome.error;
    return outcome.value as { code: number; success: boolean; out: string; err: string };
  };

  test("what is granted runs; its twin that is not granted is refused with kind, value, reason, rule, remedy", async () => {
    expect(await shell("echo out; echo err >&2; exit 3")).toEqual({
      code: 3,
      success: false,
      out: "out\n",
      err: "err\n",
    });
    const { error } = await bench.once(SHELL, { permissions: { run: ["/usr/bin/git"] }, input: "echo" });
    expect(error).toMatchObject({
      code: "ERR_NOT_CAPABLE",
      details: { kind: "run", value: "/bin/sh" },
    });
    for (const part of ["reason", "rule", "remedy"]) expect(error!.details[part]).not.toBe("");
  });

  test("it is written down before it runs, with the real program, its arguments, and what confines it", async () => {
    const own = benchOf();
    await shell(`echo ${"x".repeat(2_000)}`, SH, own);
    const events = own.events.filter(({ op }) => op === "run");
    expect(events.map(({ kind, decision }) => [kind, decision])).toEqual([["run", "granted"], [
      "run",
      "granted",
    ]]);
    expect(events[1]!.value).toMatch(/^\/usr\/bin\/|^\/bin\//);
    expect(events[1]!.details).toMatchObject({ sandbox: "bubblewrap" });
    expect(String(events[1]!.details!.arguments)).toMatch(/^\["-c","echo x+…$/);
    const deaf = benchOf({
      audit: {
        write: (event) => {
          if (event.details?.sandbox) throw new Error("full");
        },
        close() {},
      },
    });
    const { value } = await deaf.once(ANY, { ...SH, input: ["/bin/sh", { args: ["-c", "true"] }] });
    expect(value).toEqual(["Error", "ERR_AUDIT_FAILED"]);
  });

  test("input is text, bytes or nothing; the environment is what is given and nothing else", async () => {
    const call = async (options: Record<string, unknown>) =>
      (await bench.once(ANY, { ...SH, input: ["/bin/sh", options] })).value;
    const cat = { args: ["-c", "cat"] };
    expect(await call({ ...cat, stdin: "grüße" })).toEqual([0, "grüße"]);
    expect(await call({ ...cat, bytes: [65, 66] })).toEqual([0, "AB"]);
    expect(await call({ ...cat, stdin: "null" })).toEqual([0, ""]);
    expect(await call(cat)).toEqual([0, ""]);
    expect(await call({ ...cat, stdin: "piped" })).toEqual(["TypeError", "ERR_OP_INVALID"]);
    expect(await call({ args: ["-c", "true"], stdin: "x".repeat(300_000) })).toEqual([0, ""]);
    expect(await call({ args: ["-c", "/usr/bin/env"], env: { A: "a b", PATH: "/usr/bin" } }))
      .toEqual([0, expect.stringMatching(/^(?:(?:A=a b|PATH=\/usr\/bin|PWD=\/tmp|_=\S*|OLDPWD=\S*)\n)+$/)]);
    for (const name of ["LD_PRELOAD", "LD_X", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS"]) {
      expect(await call({ args: ["-c", "true"], env: { [name]: "x" } })).toMatchObject([
        "NotCapable",
        "ERR_NOT_CAPABLE",
      ]);
    }
    for (const env of [{ "A=B": "x" }, { "": "x" }, { A: "x\0y" }]) {
      expect(await call({ args: [], env })).toMatchObject(["TypeError", "ERR_OP_INVALID"]);
    }
    expect(await call({ args: ["a\0b"] })).toMatchObject(["TypeError", "ERR_OP_INVALID"]);
    expect(await call({ args: ["x".repeat(200_000)] })).toMatchObject(["LimitError", "ERR_LIMIT_SIZE"]);
  });

  test("it starts in /tmp or below, and nowhere else", async () => {
    const call = async (cwd: string) =>
      (await bench.once(ANY, { ...SH, input: ["/bin/sh", { args: ["-c", "pwd; echo > x"], cwd }] })).value;
    expect(await call("/tmp")).toEqual([0, "/tmp\n"]);
    expect(await call("/tmp/a/b")).toEqual([0, "/tmp/a/b\n"]);
    expect(await call("a")).toEqual([0, "/tmp/a\n"]);
    for (const cwd of ["/", "/usr", "/tmp/../usr", "/etc"]) {
      expect(await call(cwd)).toMatchObject(["NotFound", "ENOENT"]);
    }
  });

  test("[T07] inside there is no file of the host but the system's programs, nothing to write to but /tmp, no network and no other process", async () => {
    const secret = join(temporary(), "secret.txt");
    writeFileSync(secret, "secret");
    const { out } = await shell(`
      ls -A / | tr '\\n' ' '; echo
      cat '${secret}' /etc/passwd /root/* 2>/dev/null; echo "cat $?"
      for place in / /usr /lib /dev /dev/shm /sallyport /proc; do touch "$place/x" 2>/dev/null && echo "wrote $place"; done
      touch /tmp/x && echo "tmp"
      cat /proc/net/dev | grep -c : ; ls /proc | grep -c '^[0-9]'
      ls /proc/self/fd | tr '\\n' ' '; echo
      grep -E 'Cap(Eff|Bnd)|NoNewPrivs' /proc/self/status | tr -s '\\t\\n' '  '; echo
      hostname 2>/dev/null || cat /proc/sys/kernel/hostname`);
    const lines = out.split("\n");
    const top = lines[0]!.trim().split(" ");
    expect(top.filter((name) => !/^(bin|dev|lib\w*|proc|sallyport|sbin|tmp|usr)$/.test(name))).toEqual([]);
    expect(lines.slice(1)).toEqual([
      "cat 1",
      "tmp",
      "1", // lo
      expect.stringMatching(/^[1-6]$/),
      "0 1 2 3 ", // 3 is the listing's own
      "CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 ",
      "sandbox",
      "",
    ]);
  });

  test("[T07] a program of the plugin's own runs from its verified bytes, whatever the disk says; one that was not pinned does not", async () => {
    const root = temporary();
    mkdirSync(join(root, "bin"));
    writeFileSync(join(root, "bin/tool"), "#!/bin/sh\necho changed\n", { mode: 0o755 });
    const bundle = bundleOf(root, {
      "bin/tool": '#!/bin/sh\necho "verified $1"; ls /sallyport/bundle /sallyport/bundle/bin\n',
      "bin/loose": "#!/bin/sh\necho loose\n",
    }, ["bin/tool"]);
    const options = { permissions: { run: ["./bin/tool", "./bin/loose"] }, cwd: root, bundle };
    const call = (name: string) =>
      bench.once(
        `async (name) => {
        const { stdout } = await new Deno.Command(name, { args: ["x"] }).output();
        return new TextDecoder().decode(stdout);
      }`,
        { ...options, input: name },
      );
    expect((await call("./bin/tool")).value).toBe(
      "verified x\n/sallyport/bundle:\nbin\n\n/sallyport/bundle/bin:\ntool\n",
    );
    const loose = await call("./bin/loose");
    expect(loose.error).toMatchObject({ code: "ERR_NOT_CAPABLE", details: { kind: "run" } });
    expect(loose.error!.details.rule).toContain("only those that were pinned");
    const alias = join(temporary(), "alias");
    symlinkSync(join(root, "bin/tool"), alias);
    const around = await bench.once(SHELL.replaceAll("/bin/sh", alias), {
      ...options,
      permissions: { run: true },
      input: "",
    });
    expect(around.error).toMatchObject({ code: "ERR_NOT_CAPABLE" });
  });

  test("[T03] neither Sallyport's state nor a plugin's directory is run from, by whatever name", async () => {
    const place = temporary();
    const sealed = join(place, "state");
    mkdirSync(sealed);
    const tool = join(sealed, "tool");
    copyFileSync("/bin/sh", tool);
    chmodSync(tool, 0o755);
    symlinkSync(tool, join(place, "link"));
    linkSync(tool, join(place, "hard"));
    copyFileSync("/bin/sh", join(place, "free"));
    const own = benchOf({ sealed: () => [sealed] });
    const call = async (path: string) =>
      await own.once(SHELL.replaceAll("/bin/sh", path), { permissions: { run: true }, input: "echo ran" });
    expect((await call(join(place, "free"))).value).toMatchObject({ out: "ran\n" });
    for (const path of [tool, join(place, "link"), join(place, "hard")]) {
      const { error } = await call(path);
      expect([path, error?.code]).toEqual([path, "ERR_NOT_CAPABLE"]);
      expect(error!.details.rule).toContain("built-in deny");
    }
  });

  test("a deny holds for the file that a program is, by whatever link it is reached", async () => {
    const link = join(temporary(), "innocent");
    symlinkSync("/bin/sh", link);
    const call = (deny: string[]) =>
      bench.once(SHELL.replaceAll("/bin/sh", link), {
        permissions: { run: { allow: [link], deny } },
        input: "echo ran",
      });
    expect((await call(["git"])).value).toMatchObject({ out: "ran\n" });
    const real = readFileSync("/proc/self/mountinfo") && process.platform === "linux" ? "dash" : "sh";
    for (const deny of [["/usr/bin"], ["/usr"], ...(real === "dash" ? [["dash"]] : [])]) {
      expect((await call(deny)).code).toBe("ERR_NOT_CAPABLE");
    }
  });

  test("what is no program is told so; what was never granted is refused whether or not it is there", async () => {
    const place = temporary();
    writeFileSync(join(place, "text"), "x");
    mkdirSync(join(place, "folder"));
    const call = async (name: string, run: string[]) =>
      (await bench.once(ANY, { permissions: { run }, input: [name, {}] })).value;
    const all = ["text", "folder", "absent"].map((name) => join(place, name));
    expect(await call(all[0]!, all)).toMatchObject(["PermissionDenied", "EACCES"]);
    expect(await call(all[1]!, all)).toMatchObject(["IsADirectory", "EISDIR"]);
    expect(await call(all[2]!, all)).toMatchObject(["NotFound", "ENOENT"]);
    for (const name of all) expect(await call(name, [])).toMatchObject(["NotCapable", "ERR_NOT_CAPABLE"]);
  });

  test("[T07] limits: time, output, processes, memory, files, disk; each bound has a twin within it", async () => {
    const small = benchOf({
      limits: limitsOf({
        wallMs: 3_000,
        stdoutBytes: 1_000,
        stderrBytes: 500,
        processes: 6,
        addressSpaceMb: 128,
        files: 16,
        scratchMb: 1,
      }),
    });
    const call = async (line: string) =>
      (await small.once(ANY, { ...SH, input: ["/bin/sh", { args: ["-c", line] }] })).value;
    expect(await call("sleep 0.1; echo done")).toEqual([0, "done\n"]);
    expect(await call("sleep 60")).toMatchObject(["TimedOut", "ERR_LIMIT_WALL"]);
    expect(await call("head -c 1000 /dev/zero | tr '\\0' x")).toEqual([0, "x".repeat(1_000)]);
    expect(await call("head -c 1001 /dev/zero")).toMatchObject(["LimitError", "ERR_LIMIT_SIZE"]);
    expect(await call("while :; do echo x; done")).toMatchObject(["LimitError", "ERR_LIMIT_SIZE"]);
    expect(await call("head -c 501 /dev/zero >&2")).toMatchObject(["LimitError", "ERR_LIMIT_SIZE"]);
    expect(await call("for i in 1 2 3 4 5; do sleep 0.1 & done; wait; echo all")).toEqual([0, "all\n"]);
    expect(await call("for i in 1 2 3 4 5 6 7; do sleep 0.1 & done; wait; echo all")).not.toEqual([
      0,
      "all\n",
    ]);
    expect(await call("bomb() { bomb | bomb & }; bomb; sleep 0.3; exit 0")).toBeInstanceOf(Array);
    expect(await call("head -c 900000 /dev/zero > /tmp/a && echo fits")).toEqual([0, "fits\n"]);
    expect(await call("head -c 2000000 /dev/zero > /tmp/a && echo fits")).not.toEqual([0, "fits\n"]);
    expect(await call("ulimit -v; ulimit -n; ulimit -c")).toEqual([0, "131072\n16\n0\n"]);
  });

  test("[T07] nothing is left when it ends, however it ends", async () => {
    const left = () =>
      readdirSync("/proc").filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("54321");
        } catch {
          return false;
        }
      });
    const own = benchOf({ limits: limitsOf({ wallMs: 1_000 }) });
    await shell("(setsid sleep 54321 > /dev/null 2>&1 &); sleep 54321 & echo started", SH, own);
    await expect.poll(left).toEqual([]);
    const late = await own.once(ANY, {
      ...SH,
      input: ["/bin/sh", { args: ["-c", "setsid sleep 54321 & sleep 54321"] }],
    });
    expect(late.value).toMatchObject(["TimedOut", "ERR_LIMIT_WALL"]);
    await expect.poll(left).toEqual([]);
    const guest = await own.start(SHELL, SH);
    const call = guest.call("sleep 54321; echo no", 500);
    expect((await call).code).toBe("ERR_LIMIT_WALL");
    await expect.poll(left).toEqual([]);
    guest.isolate.dispose();
  });

  test("[T03] what no grant reaches is empty inside, where it lies among the system's own files", async () => {
    const own = benchOf({ sealed: () => ["/usr/share", "/absent"] });
    const count = "ls -A /usr/share | wc -l; touch /usr/share/x 2>/dev/null && echo wrote";
    expect((await shell(count)).out.trim()).not.toBe("0");
    expect((await shell(count, SH, own)).out.trim()).toBe("0");
  });

  test("[T07] a program makes no namespaces of its own, where bubblewrap can forbid that", async () => {
    const found = await jail();
    const { out } = await shell(
      "unshare -Ur true 2>/dev/null && echo nested; unshare --version > /dev/null && echo there",
    );
    expect(out).toBe(typeof found !== "string" && found.forbidsNamespaces ? "there\n" : "nested\nthere\n");
  });

  test("[T07] a descriptor that the host was started with reaches neither a program nor a worker", async () => {
    const secret = join(temporary(), "secret.txt");
    writeFileSync(secret, "secret");
    const runtime = JSON.stringify(join(import.meta.dirname, "../../../runtime/mod.ts"));
    const script = `
      import { readdirSync, readlinkSync } from "node:fs";
      import { planConfinement, sandboxedRun, startConfined } from ${runtime};
      const authority = { authorize: (path) => ({ path }), wouldGrant: () => true, sealed: () => [] };
      const signal = new AbortController().signal;
      const order = { name: "sh", args: ["-c", "ls /proc/self/fd; cat /proc/self/fd/60"], stdin: null, cwd: "/tmp", env: {}, sealed: [], signal };
      const { stdout } = await sandboxedRun().run({ path: "/bin/sh", authority, signal }, order);
      const child = await startConfined({ plan: planConfinement("best"), entry: "/bin/sh", readable: [] });
      const folder = "/proc/" + child.pid + "/fd/";
      const links = readdirSync(folder).map((fd) => { try { return readlinkSync(folder + fd); } catch { return ""; } });
      child.kill();
      console.log(JSON.stringify([readlinkSync("/proc/self/fd/60"), Buffer.from(stdout).toString(), links]));
      process.exit(0);`;
    // Node itself closes the low ones in its children, up to the first that is not open.
    const stdio: ("ignore" | "pipe" | "inherit" | number)[] = ["ignore", "pipe", "inherit"];
    for (let fd = 3; fd < 60; fd++) stdio.push("ignore");
    const opened = openSync(secret, "r");
    const host = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: [...stdio, opened],
    });
    closeSync(opened);
    const output = Buffer.concat(await Array.fromAsync(host.stdout!)).toString();
    const [held, listed, links] = JSON.parse(output) as [string, string, string[]];
    expect([held, listed]).toEqual([secret, "0\n1\n2\n3\n"]);
    expect(links.length).toBeGreaterThan(2);
    expect(links).not.toContain(secret);
  });

  test("a program outside of the system's folders is there as itself and alone", async () => {
    const tool = join(temporary(), "my tool");
    writeFileSync(tool, '#!/bin/sh\necho "$0"; ls /sallyport/run; ls /tmp\n', { mode: 0o755 });
    const { value } = await bench.once(ANY, { permissions: { run: [tool] }, input: [tool, {}] });
    expect(value).toEqual([0, "/sallyport/run/my tool\nmy tool\n"]);
  });
});

describe("where nothing confines programs", { timeout: 60_000 }, () => {
  const missing = () => Promise.resolve("bubblewrap is not installed");

  test("[T34] they are refused, and the refusal says why and what the cure is", async () => {
    const bench = benchOf({ jail: missing });
    const { error } = await bench.once(SHELL, { ...SH, input: "echo ran" });
    expect(error).toMatchObject({ code: "ERR_NOT_CAPABLE", details: { kind: "run", value: "/bin/sh" } });
    expect(error!.details.reason).toContain("bubblewrap is not installed");
    expect(error!.details.remedy).toContain("Install bubblewrap");
    expect(bench.decisions()).toEqual(["run /bin/sh granted", "run /bin/sh denied"]);
  });

  test("[T34] a tenant's policy may accept it; then the audit says that nothing confined it", async () => {
    const bench = benchOf({ jail: missing, mayBeUnconfined: true, limits: limitsOf({ wallMs: 1_000 }) });
    const call = async (args: string[], more = {}) =>
      (await bench.once(ANY, { ...SH, input: ["/bin/sh", { args, ...more }] })).value;
    expect(await call(["-c", "pwd; /usr/bin/env; cat"], { stdin: "in", env: { A: "1" }, cwd: "/tmp/x" }))
      .toEqual([0, expect.stringMatching(/\/sallyport-command-\w+\/tmp\/x\n[^]*A=1\n[^]*in$/)]);
    expect(await call(["-c", "sleep 60 & sleep 60"])).toMatchObject(["TimedOut", "ERR_LIMIT_WALL"]);
    expect(await call(["-c", "(sleep 60 &); echo quick"])).toEqual([0, "quick\n"]);
    const sandboxes = bench.events.flatMap(({ details }) =>
      details?.sandbox === undefined ? [] : [details.sandbox]
    );
    expect(new Set(sandboxes)).toEqual(
      new Set(["none: unconfinedCommands: allow (bubblewrap is not installed)"]),
    );
  });

  test("what is not granted is refused all the same", async () => {
    const bench = benchOf({ jail: missing, mayBeUnconfined: true });
    expect((await bench.once(SHELL, { permissions: { run: ["/usr/bin/git"] }, input: "" })).code).toBe(
      "ERR_NOT_CAPABLE",
    );
  });
});
