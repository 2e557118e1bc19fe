import type { CommandHandler } from "sallyport/plugin";

/** The title in small letters and digits, with dashes between; accents go. */
export const of: CommandHandler = ({ args }) => {
  const plain = args.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  const slug = plain.match(/[a-z0-9]+/g)?.join("-");
  if (slug === undefined) throw new Error("the title has no letter and no digit");
  return slug;
};
