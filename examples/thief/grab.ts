// A script whose import is computed when it runs: which file it takes could not be hashed, so it is not even bundled.
const name = "package";
export default async () => await import(`../../${name}.json`);
