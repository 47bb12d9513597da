/**
 * Compiles the examples of README.md, and runs its program with what the page says that the user types.
 *
 *   node page.mjs URL DIRECTORY        (DIRECTORY has the built library)
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [url, directory] = process.argv.slice(2);
const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const blocks = language => [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(([, text]) => text);
const program = blocks("ts"), fragments = blocks("typescript"), [typed, shown] = blocks("text");
assert.ok(program.length >= 4 && fragments.length >= 8, "the page has lost its examples");

// What the examples use without saying so.
const known = `import { NavigationSession, parse, stringify } from "./coordinator-client.js";
import type { NavigationState, SessionOptions } from "./coordinator-client.js";
declare const session: NavigationSession, options: SessionOptions, draw: (state: NavigationState) => void;
export const used = [NavigationSession, parse, stringify, session, options, draw];
`;
const node = `declare const process: { argv: string[]; stdin: unknown };
declare module "node:readline" { export function createInterface(options: { input: unknown }): AsyncIterable<string>; }
`;
writeFileSync(join(directory, "node.d.ts"), node);
writeFileSync(join(directory, "package.json"), '{"type": "module"}');
writeFileSync(join(directory, "shop.ts"), program.join("\n"));
const files = fragments.map((text, index) => {
  // An example may declare what another one is given.
  const own = new Set([...text.matchAll(/^const (\w+)/gm)].map(([, name]) => name));
  const prelude = known.replace(/session: NavigationSession, |options: SessionOptions, /g, part => own.has(part.split(":")[0]) ? "" : part);
  writeFileSync(join(directory, `example${index}.ts`), prelude + text);
  return `example${index}.ts`;
});
const strict = ["--strict", "--target", "es2022", "--module", "es2022", "--moduleResolution", "node", "--lib", "es2022,dom,dom.iterable"];
execFileSync("tsc", [...strict, "node.d.ts", "shop.ts", ...files], { cwd: directory, stdio: "inherit" });

const { stdout, stderr } = spawnSync("node", ["shop.js", url], { cwd: directory, input: typed, encoding: "utf8", timeout: 30_000 });
const drawn = stdout.split("\n").filter(line => line.startsWith("==") || line.startsWith("/")).join("\n");
assert.equal(drawn, shown.trimEnd(), stderr + stdout);
console.log(`Clients/TypeScript/README.md: ${fragments.length} examples compile, and the program draws what it says`);
