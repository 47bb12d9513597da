// The peer: the same job as simply as users of Node's own server write it. Sessions are objects in memory, an event
// selects a tab, the answer is the state. One process, for its sessions are in its memory.
//
//   node peer.js PORT

const http = require("node:http")

const tabs = ["home", "plus", "myPage"].map((name, index) => ({
    id: name, title: name, stack: [{ key: `k${index + 3}`, name, title: name, coordinator: "tab" }]
}))

const sessions = new Map()

function apply(event, id) {
    const state = sessions.get(id) ?? {
        session: { id, app: "tabs", version: 1, expiresAt: "2026-01-01T00:00:00Z" },
        visible: tabs[0].stack[0], selected: 0, tabs,
        events: ["home", "selectTab", "relaunch", "describeClient"], transition: { event: "", operations: [], finished: [] }
    }
    const tab = state.tabs[event.payload.index]
    if (!tab) return undefined
    state.session.version += 1
    state.selected = event.payload.index
    state.visible = tab.stack[0]
    state.transition = {
        event: event.type, operations: [{ op: "selectTab", key: "k2", tab: state.visible.name }], finished: []
    }
    sessions.set(id, state)
    return state
}

const path = /^\/v1\/sessions\/([^/]+)\/events$/

http.createServer((request, response) => {
    const id = request.method === "POST" && path.exec(request.url)?.[1]
    if (!id) return response.writeHead(404).end()
    let body = ""
    request.setEncoding("utf8")
    request.on("data", (part) => { body += part })
    request.on("end", () => {
        let state
        try { state = apply(JSON.parse(body), id) } catch {}
        if (!state) return response.writeHead(422).end()
        response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(state))
    })
}).listen(Number(process.argv[2] ?? 8080), "127.0.0.1")
