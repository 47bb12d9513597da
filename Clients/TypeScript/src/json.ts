const cryptography: Crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // Node 18 has no global one.
/** The prefix of strings that stand for an `ExactNumber` while JSON's own functions read or write the text. */
const mark = `${cryptography.getRandomValues(new Uint32Array(4)).join("-")} `;
const jsonToken = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g, longDigits = /\d[\d.]{15}/;

/** At least 16 random characters: a key for an event, or any other name that nobody can guess. */
export const randomKey = (): string => cryptography.getRandomValues(new Uint32Array(4)).join("-");

/**
 * A number with more digits than JavaScript's own have, as the server wrote it: an id beyond 2⁵³, a price of 20 digits.
 * It is drawn and posted with all of them; `BigInt(number.text)` calculates with an integer.
 */
export class ExactNumber {
  /** The number, as it stands in the JSON text. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
    Object.freeze(this);
  }

  toString(): string { return this.text; }

  toJSON(): unknown {
    const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
    return rawJSON?.(this.text) ?? mark + this.text;
  }
}

/** Whether JavaScript's own number has every digit of a JSON text. */
const isKept = (text: string): boolean =>
  text.split(/e/i)[0].replace(/[-.]/g, "").replace(/^0+/, "").length < 16 || String(Number(text)) === text;

/** `JSON.parse`, with an `ExactNumber` for each number that JavaScript would change. */
export function parse(text: string): unknown {
  if (!longDigits.test(text)) return JSON.parse(text);
  const marked = text.replace(jsonToken, part => part[0] === '"' || isKept(part) ? part : `"${mark}${part}"`);
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value);
}

/** `JSON.stringify`, also where that cannot write an `ExactNumber` (`JSON.rawJSON`). */
export function stringify(value: unknown): string {
  return JSON.stringify(value)?.replace(new RegExp(`"${mark}([^"]*)"`, "g"), "$1");
}
