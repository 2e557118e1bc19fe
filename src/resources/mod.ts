/** Reading a plugin's own text files. */
export { resourcePath } from "./path.ts";
export { checkRoots, type Resource, type ResourceRoot, ResourceRoots } from "./roots.ts";
