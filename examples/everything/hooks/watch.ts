import type { HookHandler } from "sallyport/plugin";

/** Says on the console who came; a hook of this event only watches. */
export const watch: HookHandler = ({ target, output }) => console.log(`${target} gave`, output);
