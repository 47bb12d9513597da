// The few functions of Node that are used; they are loaded only there.
declare module "node:crypto" {
  export const webcrypto: Crypto;
}
declare module "node:fs/promises" {
  export function readFile(path: string, encoding: "utf8"): Promise<string>;
  export function rename(from: string, to: string): Promise<void>;
  export function rm(path: string, options: { force: boolean }): Promise<void>;
  export function open(path: string, flags: string, mode: number): Promise<{
    writeFile(text: string): Promise<void>; sync(): Promise<void>; close(): Promise<void>;
  }>;
}
