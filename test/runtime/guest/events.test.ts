import { afterAll, beforeAll, expect, test } from "vitest";
import { createRealm, type Realm } from "./realm.ts";

let realm: Realm;
beforeAll(() => realm = createRealm());
afterAll(() => realm.dispose());

function same(script: string): void {
  expect(realm.run(script)).toEqual(JSON.parse(JSON.stringify(new Function(script)())));
}

test("events reach listeners as in Node: order, once, capture, removal, objects, prevention", () => {
  same(`
    const out = [];
    const target = new EventTarget();
    const removed = () => out.push("removed");
    target.addEventListener("x", (e) => out.push("a", e.type, e.eventPhase, e.currentTarget === target, e.composedPath().length));
    target.addEventListener("x", () => out.push("once"), { once: true });
    target.addEventListener("x", () => target.removeEventListener("x", removed));
    target.addEventListener("x", removed);
    target.addEventListener("x", { handleEvent(e) { out.push("object", this !== undefined, e.target === target); e.preventDefault(); } });
    target.addEventListener("x", (e) => { e.preventDefault(); out.push("passive", e.defaultPrevented); }, { passive: true });
    target.addEventListener("x", null);
    const same = () => out.push("same");
    target.addEventListener("x", same); target.addEventListener("x", same); target.addEventListener("y", same);
    const event = new Event("x", { cancelable: true });
    out.push(target.dispatchEvent(event), event.defaultPrevented, event.returnValue, event.currentTarget, event.eventPhase);
    out.push(target.dispatchEvent(new Event("x")));
    target.addEventListener("stop", (e) => { e.stopImmediatePropagation(); out.push("first"); });
    target.addEventListener("stop", () => out.push("never"));
    target.dispatchEvent(new Event("stop"));
    const custom = new CustomEvent("c", { detail: { n: 1 } });
    out.push(custom.detail.n, new CustomEvent("c").detail, custom.bubbles, custom.isTrusted, Event.AT_TARGET, custom instanceof Event);
    out.push(Object.prototype.toString.call(custom), Object.prototype.toString.call(target));
    for (const bad of [() => new Event(), () => target.dispatchEvent({}), () => target.addEventListener("x"), () => Event.prototype.type]) {
      try { bad(); out.push("accepted"); } catch (e) { out.push(e.name); }
    }
    return out;
  `);
});

test("an event that is being dispatched cannot be dispatched again", () => {
  expect(realm.run(`
    let name = "";
    const target = new EventTarget();
    target.addEventListener("x", (e) => { try { target.dispatchEvent(e); } catch (error) { name = error.name; } });
    return [target.dispatchEvent(new Event("x")), name];
  `)).toEqual([true, "InvalidStateError"]);
});

test("what a listener throws is reported, and the next listener runs", () => {
  const from = realm.lines.length;
  expect(realm.run(`
    let ran = 0;
    const target = new EventTarget();
    target.addEventListener("x", () => { throw new RangeError("broken"); });
    target.addEventListener("x", () => { ran++; });
    return [target.dispatchEvent(new Event("x")), ran];
  `)).toEqual([true, 1]);
  expect(realm.lines.slice(from)).toEqual([{
    level: "error",
    text: expect.stringContaining("Uncaught RangeError: broken"),
  }]);
});

test("AbortController and AbortSignal as in Node", () => {
  same(`
    const out = [];
    const controller = new AbortController(), { signal } = controller;
    signal.throwIfAborted();
    out.push(signal.aborted, signal.reason, signal.onabort, controller.signal === signal);
    signal.onabort = (e) => out.push("handler", e.type, e.target === signal);
    signal.addEventListener("abort", () => out.push("listener"));
    const target = new EventTarget();
    target.addEventListener("x", () => out.push("bound"), { signal });
    target.dispatchEvent(new Event("x"));
    controller.abort(); controller.abort("again");
    target.dispatchEvent(new Event("x"));
    out.push(signal.aborted, signal.reason.name, signal.reason.code, signal.reason instanceof Error, signal.reason.message);
    try { signal.throwIfAborted(); } catch (e) { out.push(e === signal.reason); }
    out.push(AbortSignal.abort("why").reason, AbortSignal.abort().reason.name);
    for (const bad of [() => new AbortSignal(), () => AbortSignal.any([{}]), () => AbortSignal.any(1), () => AbortSignal.timeout(-1), () => AbortSignal.timeout(), () => AbortSignal.prototype.aborted]) {
      try { bad(); out.push("accepted"); } catch (e) { out.push(e instanceof Error); }
    }
    return out;
  `);
});

test("AbortSignal.any follows its sources, nested ones too, and all are aborted before a listener runs", () => {
  same(`
    const out = [];
    const a = new AbortController(), b = new AbortController();
    const any = AbortSignal.any([a.signal, b.signal]), nested = AbortSignal.any([any]);
    a.signal.addEventListener("abort", () => out.push("source", any.aborted, nested.aborted));
    any.addEventListener("abort", () => out.push("any", any.reason));
    nested.addEventListener("abort", () => out.push("nested", nested.reason));
    b.abort("b"); a.abort("a");
    out.push(any.reason, AbortSignal.any([AbortSignal.abort(1), AbortSignal.abort(2)]).reason, AbortSignal.any([]).aborted);
    return out;
  `);
});

test("AbortSignal.timeout fires through the realm's timer", () => {
  realm.run(`globalThis.timed = AbortSignal.timeout(50); return timed.aborted`);
  expect(realm.run(`return timed.aborted`)).toBe(false);
  realm.fire();
  expect(realm.run(`return [timed.aborted, timed.reason.name, timed.reason.code]`)).toEqual([
    true,
    "TimeoutError",
    23,
  ]);
});

test("other parts can watch a signal", () => {
  expect(realm.run(`
    const { abort } = $internal, controller = new AbortController(), seen = [];
    const gone = () => seen.push("gone");
    abort.add(controller.signal, (reason) => seen.push(reason));
    abort.add(controller.signal, gone); abort.remove(controller.signal, gone);
    const before = abort.state(controller.signal).isAborted;
    controller.abort("r");
    return [seen, before, abort.state(controller.signal).isAborted, abort.state({}) === undefined, abort.state(null) === undefined];
  `)).toEqual([["r"], false, true, true, true]);
});

test("DOMException is an error with a name, a code and a stack, as in Node", () => {
  same(`
    const e = new DOMException("m", "NotFoundError"), plain = new DOMException();
    return [e.name, e.code, e.message, String(e), e instanceof Error, e instanceof DOMException, plain.name, plain.message, plain.code,
      Object.prototype.toString.call(e), DOMException.ABORT_ERR, e.DATA_CLONE_ERR, new DOMException("", "QuotaExceededError").code,
      new DOMException("", "InUseAttributeError").code, new DOMException("", "constructor").code, typeof e.stack, Object.keys(e).length,
      Object.keys(DOMException).filter((k) => k.endsWith("_ERR")).length];
  `);
  expect(realm.run(`return new DOMException("m", "AbortError").stack.split("\\n")[0]`)).toBe("AbortError: m");
  expect(realm.run(`return DOMException.prototype.name`)).toMatch(/^threw TypeError/);
});

test("globals are not enumerable, interfaces have WebIDL's shape", () => {
  expect(realm.run(`return Object.keys(globalThis).filter((k) => k !== "timed").join()`)).toBe("");
  expect(realm.run(`
    const wrong = [];
    for (const C of [DOMException, Event, CustomEvent, EventTarget, AbortSignal, AbortController, TextEncoder, TextDecoder, URL, URLSearchParams, Crypto, Performance]) {
      for (const [key, d] of Object.entries(Object.getOwnPropertyDescriptors(C.prototype))) if (key !== "constructor" && !d.enumerable) wrong.push(C.name + key);
      if (C.prototype[Symbol.toStringTag] !== C.name || Object.getOwnPropertyDescriptor(C, "prototype").writable) wrong.push(C.name);
    }
    return wrong;
  `)).toEqual([]);
});
