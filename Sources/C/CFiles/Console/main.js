/** The console: which page an address means, what is around every page, and the page of all sessions. */
import { ask, clock, count, h, hush, kept, loading, notice, pages, render, root, say } from "./dom.js";
import { mapPage } from "./map.js";
import { askForOperator, serverPage } from "./server.js";
import { join, sessionPage, start } from "./session.js";

const [, ...path] = location.pathname.slice(new URL(root).pathname.length).split("/").map(decodeURIComponent);
const main = h("main", { id: "main", tabIndex: -1 }), title = h("h1"), tools = h(".tools"),
  status = h(".status", { role: "status" });
const find = h("form.find", { role: "search", onsubmit: event => {
  event.preventDefault();
  const id = find.firstChild.value.trim();
  if (id) location.assign(pages.session(id));
} }, h("input", { type: "search", placeholder: "Find a session by its id", "aria-label": "The id of a session" }));
const link = (name, href, page) => h("a", { href, "aria-current": path[0] === page ? "page" : undefined }, name);

document.body.replaceChildren(h("a.skip", { href: "#main", onclick: event => { event.preventDefault(); main.focus();
  } }, "To the page"),
  h("header.top", {}, h("nav", { "aria-label": "Console" }, link("coordinatord", pages.all, ""),
    link("Sessions", pages.all, undefined),
    link("Server", pages.server, "server")), title, status, tools, find),
  main, h("p", { id: "note", role: "status" }));

/** What the header says about a session. */
function about(app, id, { version, isLive, actions }) {
  document.title = `${app} ${id}`;
  render(title, h("a", { href: `${pages.app(app)}?session=${id}` }, app), h("span.id", {}, ` ${id}`));
  render(status, h("b", {}, `v${version}`), h(`span.${isLive ? "live" : "still"}`, {}, isLive ? "live" : "not live"));
  render(tools, actions);
}

async function open() {
  const wait = setTimeout(() => render(main, loading("Asking the server")), 300);
  let config;
  try { config = await ask("console/config"); } catch (problem) {
    return render(main, notice("This server has no console", problem.message, h("a", { href: root }, "To the server")));
  } finally { clearTimeout(wait); }
  const [page, name] = path;
  if (page === "sessions" && name) return sessionPage(main, name, config, about);
  if (page === "apps" && name) { entitle(`Map of ${name}`); return mapPage(main, name, config); }
  if (page === "server") { entitle("Server", true); return serverPage(main, config); }
  entitle("Sessions", true);
  return allPage(config);
}

/** The page's name, which is hidden if the navigation shows it. */
function entitle(text, isInNavigation) {
  document.title = `${text} · coordinatord`;
  title.classList.toggle("unseen", !!isInNavigation);
  render(title, text);
}

/** What the apps that come with the server are for; of any other app the page says how large it is. */
const sentences = {
  shop: "Tabs, links, a search, and a checkout with a sign-in on the way and a payment that takes its time.",
  kiosk: "Check-in at an airport: work under way, time that runs out, signals of other systems; in two languages.",
  numbers: "The vocabulary on one screen: push, replace, sheet, cover, alert, child flow, a handler that fails.",
  tabs: "A login that is remembered, and three tabs; flows that finish.",
  "login-home": "A parent and its children on one stack: back removes the child whose screen went away.",
  "login-home-delegate": "The same, with the parent behind a protocol.",
  "list-detail": "View, view model, coordinator: a list, its items, and an editor in a sheet.",
  main: "One coordinator, events with payloads, from any screen to any other.",
  "clean-login": "A use case and a repository behind a login; the coordinator knows neither.",
};

/** What an app is about: `shop` first, then the default, then the others as the server lists them. */
async function described({ apps, defaultApp }) {
  const rank = ({ name }) => name === "shop" ? 0 : name === defaultApp ? 1 : 2;
  const found = await Promise.all(apps.map(({ name }) => ask(`v1/apps/${encodeURIComponent(name)}`)));
  return found.sort((a, b) => rank(a) - rank(b)).map(app => ({ ...app, sentence: sentences[app.name]
    ?? `${count(app.coordinators.length, "coordinator")}, ${
      count(app.coordinators.flatMap(({ events }) => events).length, "event")}, ${count(app.links.length, "link")}.` }));
}

/** Starts, opens and finds sessions. */
async function allPage(config) {
  const listed = await ask("v1/apps"), apps = await described(listed), own = kept.names("token ");
  const go = opening => opening.then(id => location.assign(pages.session(id)), problem => say(problem.message));
  const launch = what => go(start(what));
  const id = h("input", { placeholder: "Id (s_…)", "aria-label": "The session's id", required: true });
  const token = h("input", { type: "password", placeholder: "Token", "aria-label": "The session's token",
    autocomplete: "off", required: true });
  const code = h("input", { placeholder: "e.g. 7ETC-MC4G", "aria-label": "The code", autocomplete: "off",
    required: true, autocapitalize: "characters", spellcheck: false, oninput: () => refuse() });
  const fault = h("p.fault", { role: "alert" });
  const refuse = sentence => {
    fault.textContent = sentence ?? "";
    code.ariaInvalid = sentence ? "true" : null;
  };
  const hasAccount = config.development && apps.some(({ name }) => name === "shop" || name === "clean-login");
  render(main, h(".pagewide", {},
    config.development && h("section.welcome", {}, h("h2", {}, "This is a development server"),
      h("p", {}, "An app's screens, and what leads from one to the next, live here, not on the phone. Start one: you "
        + "see a phone with the app, and what the server holds of the session: beside it, or behind tabs in a narrow "
        + "window. Every button on the phone is an event. Fields that must be filled in begin with an example that "
        + "works, except for secrets: passwords and card numbers."),
      hasAccount && h("p", {}, "To sign in: ", h("code", {}, "ann@example.com"), " with the password ",
        h("code", {}, "correct horse"), "."),
      h("p.actions", {},
        apps[0].name === "shop" && h("button.primary", { onclick: () => launch({ app: "shop" }) }, "Try shop"),
        beside("openapi.yaml", "The API (a YAML file)"), beside("problems", "Its problems (text)"),
        beside("client.js", "A client library (JavaScript)")),
      h("p.quiet", {}, "To read on, in coordinatord's repository: docs/clients.md on writing a client, "
        + "docs/authoring.md on writing an app, docs/console.md on this page. An image does not contain them.")),
    h("section", {}, h("h2", {}, "Start a session"),
      h("ul.apps", {}, apps.map(({ name, sentence }) => h("li", {}, h("b", {}, name, name === listed.defaultApp
        && h("span", {}, " default")), h("p", {}, sentence),
      h("a", { href: pages.app(name), "aria-label": `Map of ${name}` }, "Map"),
      h("button", { onclick: () => launch({ app: name }), "aria-label": `Start ${name}` }, "Start"))))),
    h(".pair", {},
      h("section.links", { hidden: true }),
      h("section.join", {}, h("h2", {}, "Continue with a code"), h("form.inline", { onsubmit: event => {
        event.preventDefault();
        refuse();
        join(code.value.trim()).then(id => location.assign(pages.session(id)), problem => {
          refuse(problem.message);
          code.focus();
        });
      } }, code, h("button.primary", {}, "Continue")), fault,
      h("p.quiet", {}, "“On a phone”, at the top of a session's page, shows one.")),
      h("section", {}, h("h2", {}, "Open a session"), h("form.inline", { onsubmit: event => {
        event.preventDefault();
        kept.set(`token ${id.value.trim()}`, token.value.trim());
        location.assign(pages.session(id.value.trim()));
      } }, id, token, h("button.primary", {}, "Open")))),
    h("section", {}, h("h2", {}, "In this tab"), own.length
      ? h("ul.plain", {}, own.map(id => h("li", {}, h("a", { href: pages.session(id) }, id),
      h("span.quiet", {}, kept.get(`opened ${id}`)?.app))))
        : h("p.quiet", {}, "No session has been opened in this tab. Start one above.")),
    h("section.search", {})));
  search(main.querySelector(".search"), config);
  startAtLink(main.querySelector(".links"), apps, launch);
  const continueWithAddress = () => {
    if (!location.hash) return;
    code.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname); // A code is good for one device; the address is for many.
    code.scrollIntoView({ block: "center" });
    code.form.requestSubmit();
  };
  addEventListener("hashchange", continueWithAddress);
  continueWithAddress();
}

/** A link to a file of the server, which opens beside the page. */
const beside = (file, name) => h("a", { href: root + file, target: "_blank", rel: "noopener" }, name);

/** Starts a session at a link, for apps that declare links, which are suggested. */
function startAtLink(host, apps, launch) {
  const links = new Map(apps.filter(({ links }) => links.length).map(({ name, links }) => [name, links]));
  if (!links.size) return;
  const list = h("datalist", { id: "links" });
  const path = h("input", { required: true, "aria-label": "A link to begin at" });
  path.setAttribute("list", list.id);
  const suggest = () => {
    const known = links.get(chosen.value);
    list.replaceChildren(...known.map(value => h("option", { value })));
    path.placeholder = `e.g. ${known[0]}`;
  };
  const chosen = h("select", { "aria-label": "App", onchange: suggest },
    [...links.keys()].map(name => h("option", {}, name)));
  suggest();
  render(host, h("h2", {}, "Start at a link"), h("form.inline", { onsubmit: event => {
    event.preventDefault();
    launch({ app: chosen.value, link: path.value });
  } }, chosen, path, list, h("button.primary", {}, "Start")));
  host.hidden = false;
}

function search(host, config) {
  const token = kept.get("operator");
  if (!token) return render(host, askForOperator(config, () => search(host, config)));
  const names = { app: "App", screen: "Screen", version: "App version", user: "User" }, result = h("div");
  const heading = h("h2", {}, "Sessions in memory");
  const inputs = Object.entries(names).map(([name, title]) =>
    h("input", { name, placeholder: title, "aria-label": title }));
  const form = h("form.inline", { onsubmit: event => { event.preventDefault(); list(); } }, inputs,
    h("button.primary", {}, "Search"));
  async function list(after) {
    const query = new URLSearchParams(inputs.filter(({ value }) => value).map(({ name, value }) => [name, value]));
    if (after) query.set("after", after);
    query.set("limit", 50);
    try {
      const answer = await ask(`console/api/sessions?${query}`, { token });
      hush();
      heading.textContent = query.has("user") ? "Sessions of a user" : "Sessions in memory";
      const time = time => h("td", {}, `${time.slice(0, 10)} ${clock(time)}`);
      render(result, answer.sessions.length ? h("table", {}, h("thead", {}, h("tr", {},
        ["Session", "App", "Version", "Screen", "User", "Used", "Expires"].map((name, index) =>
          h(index === 2 ? "th.number" : "th", { scope: "col" }, name)))),
      h("tbody", {}, answer.sessions.map(found =>
        h("tr", {}, h("td", {}, h("a", { href: pages.session(found.id) }, found.id)),
        h("td", {}, found.app), h("td.number", {}, found.version), h("td", {}, found.screen),
          h("td", {}, found.user ?? "–"),
        time(found.usedAt), time(found.expiresAt)))))
          : h("p.quiet", {}, "No session is like that. Leave fields empty to see all."),
      answer.sampled && h("p.quiet", {}, "These are sessions in memory; others are found by their id or user."),
      answer.next && h("button", { onclick: () => list(answer.next) }, "Next page"));
    } catch (problem) {
      if (problem.status === 401) kept.set("operator");
      problem.status === 401 ? (say("The operator's token does not fit."), search(host, config))
        : render(result, h("p", {}, problem.message));
    }
  }
  render(host, heading, form, result,
    h("button.plain", { onclick: () => { kept.set("operator"); search(host, config); } },
      "Forget the operator's token"));
  list();
}

open().catch(problem => render(main,
  notice("This does not work", problem.message, h("a", { href: location.href }, "Try again"))));
