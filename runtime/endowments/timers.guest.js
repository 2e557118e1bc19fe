// @ts-check
/** setTimeout, setInterval, queueMicrotask. The worker keeps the clock; the callbacks never leave the isolate. */
((realm) => {
  "use strict";
  const { define, internal, primordials, send, within } = realm;
  const {
    Number,
    ReflectApply,
    SafeMap,
    TypeError,
    promiseResolve,
    promiseThen,
  } = primordials;
  const waiting = new SafeMap();
  let count = 0;

  function start(callback, delay, args, repeat) {
    if (typeof callback !== "function") {
      throw new TypeError("A timer takes a function; code from strings is never run");
    }
    const { timersMax, timerDelayMsMax } = internal.config.limits;
    if (waiting.size >= timersMax) {
      realm.breach("timers");
      throw new TypeError(`More than ${timersMax} timers are waiting`);
    }
    let delayMs = Number(delay);
    if (!(delayMs >= 0 && delayMs <= timerDelayMsMax)) delayMs = 0;
    if (repeat && delayMs < 1) delayMs = 1;
    const id = ++count;
    waiting.set(id, { callback, args, call: realm.current(), repeat, delayMs });
    send("t" + id + ":" + delayMs);
    return id;
  }

  function clear(id) {
    const number = typeof id === "number" ? id : Number(id);
    if (waiting.delete(number)) send("c" + number);
  }

  internal.timersWaiting = () => waiting.size;
  internal.setTimer = (delayMs, callback) => start(callback, delayMs, [], false);
  internal.clearTimer = clear;
  internal.fireTimer = (id) => {
    const timer = waiting.get(id);
    if (timer === undefined) return;
    if (!timer.repeat) waiting.delete(id);
    within(timer.call, () => {
      try {
        ReflectApply(timer.callback, undefined, timer.args);
      } finally {
        if (timer.repeat && waiting.has(id)) send("t" + id + ":" + timer.delayMs);
      }
    });
  };

  define("setTimeout", function setTimeout(callback, delay = 0, ...args) {
    return start(callback, delay, args, false);
  });
  define("setInterval", function setInterval(callback, delay = 0, ...args) {
    return start(callback, delay, args, true);
  });
  define("clearTimeout", function clearTimeout(id) {
    clear(id);
  });
  define("clearInterval", function clearInterval(id) {
    clear(id);
  });
  define("queueMicrotask", function queueMicrotask(callback) {
    if (typeof callback !== "function") throw new TypeError("queueMicrotask takes a function");
    promiseThen(promiseResolve(undefined), () => ReflectApply(callback, undefined, []));
  });
});
