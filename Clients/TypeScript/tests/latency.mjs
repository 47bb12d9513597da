/**
 * Measures how long it takes from a tap until the next screen is drawn, over a network with a round trip of 150 ms: with
 * and without `predicts`.
 *
 *   node Clients/TypeScript/tests/latency.mjs COORDINATORD
 */
import { NavigationSession } from "../coordinator-client.js";
import { delay, startServer } from "./server.mjs";

const server = await startServer(process.argv[2]), slow = await delay(server.url, 75);
const rounds = 11, median = times => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)];

async function measure(predicts) {
  const times = { back: [], selectTab: [], dismiss: [] };
  let tapped, name;
  const onState = () => { if (name) times[name].push(performance.now() - tapped); name = undefined; };
  const session = await NavigationSession.start({ app: "shop" }, { server: slow.url, predicts, onState });
  const tap = (type, payload) => { tapped = performance.now(); name = type; return session.post({ type, payload }); };
  await session.post({ type: "product", payload: { id: 42 } });
  await session.post({ type: "addToCart" });
  for (let round = 0; round < rounds; round++) {
    await tap("back");
    await session.post({ type: "product", payload: { id: 42 } });
    await tap("selectTab", { tab: "cart" });
    await session.post({ type: "checkout" });
    await tap("dismiss");
    await session.selectTab("home");
  }
  return Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)]));
}

const waiting = await measure(false), predicting = await measure(true);
for (const name of Object.keys(waiting)) {
  console.log(`${name}: ${waiting[name].toFixed(0)} ms with the answer, ${predicting[name].toFixed(1)} ms predicted`);
}
slow.stop();
server.stop();
