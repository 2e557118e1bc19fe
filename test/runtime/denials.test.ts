/** When a caller is told of a refusal, and when of an error of the guest's own. */
import { afterAll, expect, test } from "vitest";
import { Bench } from "./harness.ts";

const bench = new Bench();
afterAll(() => bench.pool.close());

test("[T18] a refusal that escapes is one for the caller too, as it is, thrown again, or as a cause", async () => {
  for (
    const body of [
      "return await Deno.readTextFile('/outside')",
      "try { await Deno.readTextFile('/outside') } catch (error) { throw error }",
      "try { await Deno.readTextFile('/outside') } catch (cause) { throw new Error('wrapped', { cause }) }",
      `try { await Deno.readTextFile('/outside') } catch (cause) {
         throw new Error('outer', { cause: new TypeError('inner', { cause }) });
       }`,
    ]
  ) {
    const outcome = await bench.once(`async () => { ${body} }`);
    expect(outcome, body).toMatchObject({
      code: "ERR_NOT_CAPABLE",
      error: { details: { kind: "read", value: "/outside" } },
    });
    expect(outcome.error!.message).toContain("permissions in plugin.yaml");
  }
});

test("[T18] a refusal that the guest caught is listed, and the call succeeds", async () => {
  const outcome = await bench.once("() => Deno.readTextFile('/outside').catch((error) => error.name)");
  expect(outcome).toMatchObject({ value: "NotCapable", denials: [{ spelled: "/outside" }] });
});

test("[T18] an error that only looks like a refusal is the guest's own", async () => {
  const bodies = [
    `throw Object.assign(new Error("x"), { name: "NotCapable", code: "ERR_NOT_CAPABLE", denial: "d0-1" })`,
    `throw new Deno.errors.NotCapable("Requires read access")`,
    `const real = await Deno.readTextFile("/outside").catch((error) => error);
     throw Object.assign(Object.create(real), { message: real.message })`,
    `const real = await Deno.readTextFile("/outside").catch((error) => error);
     throw Object.assign(new Error(real.message), { ...real, name: real.name, code: real.code })`,
    `const real = await Deno.readTextFile("/outside").catch((error) => error);
     throw new Proxy(real, {})`,
    `const real = await Deno.readTextFile("/outside").catch((error) => error);
     throw "denial " + real.message`,
  ];
  for (const body of bodies) {
    expect(await bench.once(`async () => { ${body} }`), body).toMatchObject({ code: "ERR_GUEST_THREW" });
  }
});

test("[T18] a refusal of an earlier call is the guest's own error in a later one", async () => {
  const guest = await bench.start(
    `async (step) => {
      if (step === "keep") globalThis.kept = await Deno.readTextFile("/outside").catch((error) => error);
      else throw kept;
    }`,
  );
  expect(await guest.call("keep")).toMatchObject({ denials: [{}] });
  expect(await guest.call("throw")).toMatchObject({ code: "ERR_GUEST_THREW", denials: [] });
  guest.isolate.dispose();
});

test("[T18] the guest sees of a refusal what it asked, and nothing of paths, rules or stacks", async () => {
  const outcome = await bench.once(
    `() => Deno.readTextFile("../x").catch((error) => [
      Object.getOwnPropertyNames(error).sort(),
      error.name, error.code, error.kind, error.value, error.message,
      error instanceof Deno.errors.NotCapable, error instanceof Error, error.stack,
    ])`,
    { permissions: { read: { allow: ["./data"], deny: ["./data/x"] } }, cwd: "/srv/place" },
  );
  const [names, ...facts] = outcome.value as [string[], ...unknown[]];
  expect(names).toEqual(["code", "kind", "message", "name", "stack", "value"]);
  expect(facts.slice(0, 7)).toEqual([
    "NotCapable",
    "ERR_NOT_CAPABLE",
    "read",
    "../x",
    'Requires read access to "../x"',
    true,
    true,
  ]);
  expect(String(facts[7])).not.toMatch(/srv|file:|node:|runtime\//);
});

test("[T25] a variable that is not granted is refused at once, written down, and reported as such", async () => {
  const options = {
    permissions: { env: { allow: ["GRANTED", "UNSET", "APP_*"], deny: ["APP_SECRET"] } },
    config: { env: { GRANTED: "yes" }, envAllow: ["GRANTED", "UNSET", "APP_*"], envDeny: ["APP_SECRET"] },
  };
  const allowed = await bench.once(
    `() => [Deno.env.get("GRANTED"), Deno.env.get("UNSET") ?? "unset", Deno.env.has("APP_X"), Deno.env.toObject()]`,
    options,
  );
  expect(allowed).toMatchObject({ value: ["yes", "unset", false, { GRANTED: "yes" }], denials: [] });
  for (const name of ["OTHER", "APP_SECRET", "__proto__", "constructor"]) {
    const before = bench.events.length;
    const refused = await bench.once(`() => Deno.env.get(${JSON.stringify(name)})`, options);
    expect(refused, name).toMatchObject({
      code: "ERR_NOT_CAPABLE",
      error: { details: { kind: "env", value: name } },
    });
    expect(bench.events.slice(before)).toMatchObject([{
      type: "op",
      kind: "env",
      value: name,
      decision: "denied",
    }]);
  }
  const unchangeable = `() => { try { Deno.env.set("A", "b"); } catch (error) { return error.name; } }`;
  expect(await bench.once(unchangeable, options)).toMatchObject({ value: "NotSupported" });
});

test("[T25] above the bound of operations it is refused all the same, though as the guest's own error", async () => {
  const outcome = await bench.once(
    `async () => {
      const busy = Array.from({ length: 1024 }, () => Deno.stat("/x").catch(() => {}));
      let caught;
      try { Deno.env.get("OTHER"); } catch (error) { caught = error; }
      await Promise.all(busy);
      // The next number belongs to another op: the error above must not pass for that refusal.
      await Deno.stat("/y").catch(() => {});
      throw caught;
    }`,
  );
  expect(outcome).toMatchObject({ code: "ERR_GUEST_THREW", error: { details: { name: "NotCapable" } } });
});
