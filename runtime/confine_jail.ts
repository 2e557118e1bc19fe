/** The jail that bubblewrap makes: no network, no host processes, no files but the system's libraries. */
import { existsSync } from "node:fs";

/** Fixed places: a PATH look-up would let the environment choose the jailer (T34). */
const BUBBLEWRAP_PATHS = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];
const LIBRARY_PATHS = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];
const NOBODY_ID = "65534";

/** Absolute path of bubblewrap, or undefined. */
export function findBubblewrap(): string | undefined {
  return BUBBLEWRAP_PATHS.find((path) => existsSync(path));
}

/** What bubblewrap is told of a jail with the system's libraries, as Node needs them. */
export function jailArgs(): string[] {
  const libraries = LIBRARY_PATHS.filter((path) => existsSync(path)).flatMap((
    path,
  ) => ["--ro-bind", path, path]);
  return [...emptyJailArgs(), ...libraries, "--proc", "/proc"];
}

/** What bubblewrap is told of every jail: in this one there is nothing at all. */
export function emptyJailArgs(): string[] {
  return [
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
    "--uid",
    NOBODY_ID,
    "--gid",
    NOBODY_ID,
  ];
}
