/**
 * Runs the program of README.md by the commands of the page, with what the page says that the user types, and compiles the
 * page's examples with the options that it names.
 *
 *   node page.mjs URL DIRECTORY        (DIRECTORY has the built library)
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [url, directory] = process.argv.slice(2);
const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const blocks = language => [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(([, text]) => text);
const program = blocks("js"), fragments = blocks("typescript"), [typed, shown] = blocks("text");
assert.ok(program.length >= 4 && fragments.length >= 8, "the page has lost its examples");

// What the examples use without saying so.
const known = `import { NavigationSession, parse, stringify } from "./coordinator-client.js";
import type { NavigationState, SessionOptions } from "./coordinator-client.js";
declare const session: NavigationSession, options: SessionOptions, draw: (state: NavigationState) => void;
export const used = [NavigationSession, parse, stringify, session, options, draw];
`;
const files = fragments.map((text, index) => {
  // An example may declare what another one is given.
  const own = new Set([...text.matchAll(/^const (\w+)/gm)].map(([, name]) => name));
  const prelude = known.replace(/session: NavigationSession, |options: SessionOptions, /g, part => own.has(part.split(":")[0]) ? "" : part);
  writeFileSync(join(directory, `example${index}.ts`), prelude + text);
  return `example${index}.ts`;
});
const [compile, run] = ["tsc ", "node shop.js"].map(part => blocks("sh").find(text => text.includes(part)));
execFileSync("sh", ["-ec", compile.replace("*.ts", files.join(" "))], { cwd: directory, stdio: "inherit" });

// A directory with nothing but a copy of the repository and the program.
const place = join(directory, "program");
mkdirSync(place);
symlinkSync(fileURLToPath(new URL("../../..", import.meta.url)), join(place, "coordinatord"));
writeFileSync(join(place, "shop.js"), program.join("\n"));
const { stdout, stderr } = spawnSync("sh", ["-ec", `${run.trimEnd()} ${url}`], { cwd: place, input: typed, encoding: "utf8", timeout: 600_000 });
const drawn = stdout.split("\n").filter(line => line.startsWith("==") || line.startsWith("/")).join("\n");
assert.equal(drawn, shown.trimEnd(), stderr + stdout);
console.log(`Clients/TypeScript/README.md: ${fragments.length} examples compile, and the program draws what it says`);
