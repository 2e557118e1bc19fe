/** A name server of an attacker's: it changes its answers between look-ups, and mixes public addresses with private ones. */
import { network, plugin, PUBLIC, serve } from "./support.ts";

/** What came of it. */
export interface Rebound {
  /** Requests that were tried. */
  readonly attempts: number;
  /** Requests that were answered by the public server alone. */
  readonly answered: number;
  /** Requests that were refused as such. */
  readonly refused: number;
  /** What was connected to, or answered, though it is private. */
  readonly escapes: readonly string[];
  /** Requests of a plugin with the private addresses granted, which the private server answered: the trap is real. */
  readonly trapped: number;
}

const PRIVATE = [
  "127.0.0.1",
  "::1",
  "10.0.0.1",
  "169.254.169.254",
  "::ffff:127.0.0.1",
  "0.0.0.0",
  "fd00::1",
  "100.64.0.1",
  "fe80::1",
  "192.168.0.1",
  "172.16.0.1",
  "::ffff:a9fe:a9fe",
];

type Trick = (asked: number, address: string) => readonly string[];

/** By the number of the look-up, from zero. */
const TRICKS: readonly Trick[] = [
  (asked, address) => asked === 0 ? [PUBLIC] : [address],
  (asked, address) => asked % 2 === 0 ? [PUBLIC] : [address],
  (asked, address) => asked % 2 === 0 ? [address] : [PUBLIC],
  (_asked, address) => [PUBLIC, address],
  (_asked, address) => [address, PUBLIC],
  (asked, address) => asked === 0 ? [DEAD] : [address],
  (asked, address) => asked < 2 ? [PUBLIC, PUBLIC] : [PUBLIC, address],
];

/** Public as well, and nothing listens there. */
const DEAD = "93.184.215.99";

const PATHS = ["/", "/again", "/thrice", "/literal"];

/** Makes about so many attempts, several at once for each name. */
export async function rebind(least: number): Promise<Rebound> {
  await using inner = await serve((_seen, response) => void response.end("inner"));
  const targets: string[] = [];
  await using outer = await serve(({ url }, response) => {
    const location: string | undefined = url === "/again"
      ? "/"
      : url === "/thrice"
      ? "/again"
      : url === "/literal"
      ? `http://${targets.at(-1)}/`
      : undefined;
    if (location === undefined) response.end("outer");
    else response.writeHead(302, { location }).end();
  });
  const counts = { attempts: 0, answered: 0, refused: 0, trapped: 0 };
  const escapes: string[] = [];
  const route = (address: string) =>
    address === PUBLIC ? outer.port : address === DEAD ? undefined : inner.port;
  for (let round = 0; counts.attempts < least; round++) {
    const [trick, address] = [TRICKS[round % TRICKS.length]!, PRIVATE[round % PRIVATE.length]!];
    targets.push(address.includes(":") ? `[${address}]` : address);
    const run = async (permissions: readonly string[], paths: readonly string[]) => {
      let asked = 0;
      const { net, dialed } = network({ names: { "rebind.example": () => trick(asked++, address) }, route });
      const { fetch } = plugin({ net: permissions }, { net });
      const answers = await Promise.all(paths.map((path) => fetch(`http://rebind.example${path}`)));
      return { answers, dialed };
    };
    const { answers, dialed } = await run(["rebind.example:80"], PATHS);
    counts.attempts += answers.length;
    for (const { body, error } of answers) {
      if (body === "outer") counts.answered += 1;
      else if (error?.code === "ERR_NOT_CAPABLE") counts.refused += 1;
      else if (body !== undefined) escapes.push(`${address} answered ${body}`);
    }
    escapes.push(...dialed.filter((peer) => peer !== `${PUBLIC}:80` && peer !== `${DEAD}:80`));
    if (inner.connections > 0) escapes.push(`${address} was connected to`);
    const twin = await run(["rebind.example:80", "0.0.0.0/0:80", "[::]/0:80"], ["/", "/", "/again"]);
    counts.trapped += twin.answers.filter(({ body }) => body === "inner").length;
    inner.connections = 0;
  }
  return { ...counts, escapes };
}
