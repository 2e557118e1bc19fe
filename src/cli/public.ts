/**
 * The command line, for programs that embed it: one that adds kinds of permission and ops has flags, help and reports for
 * them by `runCli`.
 *
 * @example
 * ```ts
 * import { homedir } from "node:os";
 * import { processTerminal, runCli } from "sallyport/cli";
 *
 * process.exitCode = await runCli(process.argv.slice(2), {
 *   terminal: processTerminal(),
 *   cwd: process.cwd(),
 *   environment: process.env as Record<string, string>,
 *   userHome: homedir(),
 *   permissions: [mail],
 *   ops: [sendMail],
 * });
 * ```
 *
 * @module
 */
export { type CommandContext, processTerminal, runCli, type Terminal } from "./mod.ts";
