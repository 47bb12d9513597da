/** The server's page: what lives in it, read every two seconds with the operator's token. */
import { ask, clock, count, duration, h, hush, kept, loading, notice, pages, render, say } from "./dom.js";

/** The operator's token, for every session and the server's figures. `onToken` is called when there is one. */
export function askForOperator(config, onToken) {
  if (!config.operator) {
    return notice("Only with the operator's token",
      "This server was started without one: it shows no sessions of others, and no figures.",
      h("a", { href: pages.all }, "Start a session"));
  }
  const input = h("input", { type: "password", autocomplete: "off", required: true,
    placeholder: "The operator's token", "aria-label": "The operator's token" });
  return notice("For the operator",
    "The operator's token opens any session, read only, sends signals, and shows the server's figures. It stays in "
      + "this tab.",
    h("form.inline", { onsubmit: event => { event.preventDefault(); kept.set("operator", input.value.trim());
      hush();
      onToken(); } },
      input, h("button.primary", {}, "Continue")));
}

export async function serverPage(main, config) {
  const token = kept.get("operator");
  if (!token) return render(main, h(".pagewide", {}, askForOperator(config, () => serverPage(main, config))));
  render(main, loading("Asking the server"));
  let last, time;
  for (;;) {
    try {
      last = await ask("console/api/server", { token, onWaiting: waiting => {
        if (waiting) show(last, time, waiting.retry);
      } });
      time = Date.now();
      show(last);
    } catch (problem) {
      if (problem.status !== 401) return render(main, notice("The server does not say", problem.message));
      kept.set("operator");
      say("The operator's token does not fit.");
      return serverPage(main, config);
    }
    await new Promise(resolve => setTimeout(resolve, 2000));
  }

  function show(found, since, retry) {
    const lost = retry && h(".banner.lost", { role: "status" }, h("b", {}, "No connection to the server. "),
      since ? `These are the figures of ${clock(since)}. ` : "", h("button", { onclick: retry }, "Try now"));
    render(main, lost, found && figures(found));
  }
}

function figures({ server, uptimeSeconds, store, sessions, rates, watchers, slowest }) {
  const figure = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  const per = rate => `${rate < 10 ? rate.toFixed(1) : Math.round(rate)} /s`;
  const bars = (title, rows, empty) => h("section", {}, h("h2", {}, title), rows.length
    ? h("ul.bars", {}, rows.map(([name, value]) => {
    const bar = h("i");
    bar.style.setProperty("--share", value / Math.max(1, ...rows.map(([, value]) => value)));
    return h("li", {}, h("span", {}, name), bar, h("b", {}, value.toLocaleString("en")));
  })) : h("p.quiet", {}, empty));
  return h(".pagewide", {},
    h("p.quiet", {}, `${server}, up for ${duration(uptimeSeconds)}. Store: ${store.name}, ${store.condition}.`),
    h("dl.figures", {}, figure("sessions", sessions.total.toLocaleString("en")),
      figure("in memory", sessions.live.toLocaleString("en")),
      figure("watchers", watchers.toLocaleString("en")), figure("events", per(rates.eventsPerSecond)),
      figure("new sessions", per(rates.creationsPerSecond)), figure("problems", per(rates.problemsPerSecond))),
    sessions.sampled && h("p.quiet", {}, `Counted in a sample of ${count(sessions.sample, "session")}.`),
    h(".pair", {}, bars("Apps", sessions.byApp.map(({ app, count }) => [h("a", { href: pages.app(app) }, app), count]),
      "No session is open. Start one on the page of sessions."),
      bars("Time since the last event", sessions.ages.map(({ upTo, count }) => [`up to ${duration(upTo)}`, count]),
        "Nothing has happened yet.")),
    h(".pair", {}, sessions.byApp.filter(({ screens }) => screens?.length).map(({ app, screens, versions }) =>
      bars(`${app}: ${versions.map(({ version, count }) => `version ${version} (${count})`).join(", ")}`,
        screens.map(({ screen, count }) => [screen, count])))),
    h("section", {}, h("h2", {}, "Slowest events"), slowest.length ? h("table", {}, h("thead", {}, h("tr", {},
      ["App", "Event", "Count", "p50 ms", "p99 ms", "Max ms"].map((name, index) => h(index > 1 ? "th.number" : "th",
        { scope: "col" }, name)))),
    h("tbody", {}, slowest.map(({ app, event, count, p50Ms, p99Ms, maxMs }) => h("tr", {}, h("td", {}, app),
      h("td", {}, event),
      [count, p50Ms, p99Ms, maxMs].map(value => h("td.number", {}, value.toLocaleString("en")))))))
        : h("p.quiet", {}, "No event has been posted yet.")));
}
