/** What a worker or bundler process does to itself before it answers anything (T01). */
import process from "node:process";

const TAKEN_AWAY = [
  "kill",
  "dlopen",
  "binding",
  "_linkedBinding",
  "_debugProcess",
  "_debugEnd",
  "_startProfilerIdleNotifier",
  "_kill",
  "abort",
  "chdir",
  "setuid",
  "setgid",
  "seteuid",
  "setegid",
  "setgroups",
  "initgroups",
  "loadEnvFile",
  "getBuiltinModule",
  "execve",
] as const;

/** What `dropAuthority` leaves: both are false, or it has thrown. */
export interface RemainingAuthority {
  /** May still load native code. */
  readonly addon: boolean;
  /** May still read files. */
  readonly fsRead: boolean;
}

/**
 * Gives up reading files and loading native code, empties the environment and takes away the functions that reach
 * other processes. Throws when the permission model did not follow: an unknown scope name is ignored in silence.
 */
export function dropAuthority(): RemainingAuthority {
  const permission = process.permission as unknown as {
    drop(scope: string): void;
    has(scope: string): boolean;
  };
  permission.drop("addon");
  permission.drop("fs.read");
  const left = { addon: permission.has("addon"), fsRead: permission.has("fs.read") };
  if (left.addon || left.fsRead) throw new Error("the permission model did not drop what it was asked to");
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const name of TAKEN_AWAY) Reflect.deleteProperty(process, name);
  return left;
}
