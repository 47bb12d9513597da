/** What the tests and the measurement need: a server, and what stands between it and the client. */
import { spawn } from "node:child_process";
import http from "node:http";
import net from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Starts `coordinatord serve` on a free port. */
export async function startServer(program, ...options) {
  const child = spawn(program, ["serve", "--port", "0", "--store", "memory", "--development", ...options],
    { stdio: ["ignore", "pipe", "pipe"] });
  const url = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", () => reject(new Error("the server has not started")));
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", line => {
        const found = /listening on (http:\S+)/.exec(line);
        if (found) resolve(found[1]);
      });
    }
  });
  return { url, stop: () => child.kill() };
}

/** Passes bytes on after so many milliseconds in each direction. */
export async function delay(url, milliseconds) {
  const { hostname, port } = new URL(url), sockets = new Set();
  const listener = net.createServer(near => {
    const far = net.connect(Number(port), hostname);
    for (const [from, to] of [[near, far], [far, near]]) {
      sockets.add(from.setNoDelay());
      from.on("data", data => setTimeout(() => to.writable && to.write(data), milliseconds));
      from.on("error", () => {}).on("close", () => { sockets.delete(from); setTimeout(() => to.destroy(), milliseconds); });
    }
  });
  return listen(listener, sockets);
}

/**
 * A gateway that forwards each request. `judge({ method, path, headers, body, number })` may return what is answered in
 * the place of the server's answer: `{ status, type, text, length }`, or `"nothing"`. `isCut` refuses all connections.
 */
export async function gateway(url, judge = () => undefined) {
  const { hostname, port } = new URL(url), sockets = new Set(), seen = new Map();
  const proxy = { requests: [], isCut: false };
  const listener = http.createServer(async (request, response) => {
    const { method, url: path, headers } = request, parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts), key = headers["idempotency-key"] ?? `${method} ${path}`;
    const number = (seen.get(key) ?? 0) + 1, about = { method, path, headers, body: body.toString(), number };
    seen.set(key, number);
    proxy.requests.push(about);
    const early = await proxy.before?.(about);
    if (early === "nothing") return request.socket.destroy();
    const there = http.request({ hostname, port, method, path, headers }, async answer => {
      const instead = await judge(about);
      if (instead === "nothing") { answer.resume(); return request.socket.destroy(); }
      if (!instead) { response.writeHead(answer.statusCode, answer.headers); return answer.pipe(response); }
      answer.resume();
      response.writeHead(instead.status, { "Content-Type": instead.type, "Content-Length": instead.length ?? Buffer.byteLength(instead.text) });
      response.write(instead.text, () => instead.length ? request.socket.destroy() : response.end());
    });
    there.on("error", () => request.socket.destroy());
    response.on("close", () => there.destroy());
    there.end(body);
  });
  listener.on("connection", socket => {
    if (proxy.isCut) socket.destroy();
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
  });
  const cut = () => { proxy.isCut = true; sockets.forEach(socket => socket.destroy()); };
  return Object.assign(proxy, await listen(listener, sockets), { cut });
}

async function listen(listener, sockets) {
  await new Promise(resolve => { listener.listen(0, "127.0.0.1", resolve); });
  const stop = () => { listener.close(); sockets.forEach(socket => socket.destroy()); };
  return { url: `http://127.0.0.1:${listener.address().port}`, stop };
}

/** A directory that is removed when the process ends. */
export function temporaryDirectory() {
  const path = mkdtempSync(join(tmpdir(), "coordinator-client-"));
  process.on("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}
