/** Failures of the disk in the words that a guest may know: no path of the host, no text of the system. */
import { PowerError } from "../powers.ts";

const POWER_ERRORS: Readonly<Record<string, readonly [name: string, message: string]>> = {
  ENOENT: ["NotFound", "No such file or directory"],
  EACCES: ["PermissionDenied", "The system does not permit it"],
  EPERM: ["PermissionDenied", "The system does not permit it"],
  EROFS: ["PermissionDenied", "The file system is read-only"],
  EEXIST: ["AlreadyExists", "It exists already"],
  EISDIR: ["IsADirectory", "Is a directory"],
  ENOTDIR: ["NotADirectory", "Not a directory"],
  ENOTEMPTY: ["Error", "The directory is not empty"],
  ELOOP: ["FilesystemLoop", "Too many symbolic links"],
  ENXIO: ["NotSupported", "Not a regular file"],
  EXDEV: ["NotSupported", "The two places are on different file systems"],
  EBUSY: ["Busy", "It is in use"],
  ETXTBSY: ["Busy", "It is in use"],
  EINVAL: ["InvalidData", "The system takes it for invalid"],
  ENAMETOOLONG: ["InvalidData", "The name is too long"],
  ENOSPC: ["Error", "The disk is full"],
  EDQUOT: ["Error", "The disk is full"],
};

/** Throws the PowerError that stands for a failure of the system, and what is none, such as a refusal, as it is. */
export function rethrow(error: unknown): never {
  if (!(error instanceof Error && "syscall" in error)) throw error;
  const code = codeOf(error);
  const [name, message] = POWER_ERRORS[code] ?? ["Error", "The system reports an error"];
  throw new PowerError(name, code, message);
}

/** The system's word for a failure. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "EIO";
}
