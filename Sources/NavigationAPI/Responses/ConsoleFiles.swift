internal import MicroHTTP

/// The page's files, compiled in.
enum ConsoleFiles {
    private static let (script, style) = ("text/javascript; charset=utf-8", "text/css; charset=utf-8")

    /// For everybody's pages.
    static let clientModule = Document(PackageResources.client_js, type: script)

    static let all: [String: Document] = [
        "console.css": Document(PackageResources.console_css, type: style),
        "dom.js": Document(PackageResources.dom_js, type: script),
        "form.js": Document(PackageResources.form_js, type: script),
        "history.js": Document(PackageResources.history_js, type: script),
        "json.js": Document(PackageResources.json_js, type: script),
        "main.js": Document(PackageResources.main_js, type: script),
        "map.js": Document(PackageResources.map_js, type: script),
        "phone.js": Document(PackageResources.phone_js, type: script),
        "server.js": Document(PackageResources.server_js, type: script),
        "session.js": Document(PackageResources.session_js, type: script),
        "state.js": Document(PackageResources.state_js, type: script),
        "tree.js": Document(PackageResources.tree_js, type: script),
    ]

    /// - Parameter depth: segments of the path at which it is sent.
    static func page(depth: Int) -> Document { pages[min(depth, pages.count) - 1] }

    private static let pages = ["console/", "./", "../"].map { base in
        let text = String(decoding: PackageResources.console_html, as: UTF8.self)
            .replacing(#"<base href="./">"#, with: #"<base href="\#(base)">"#)
        return Document(
            Array(text.utf8), type: "text/html; charset=utf-8",
            more: ["Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"])
    }

    /// Nothing from elsewhere, nothing inline, in nobody's frame.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
        base-uri 'self'; form-action 'none'; frame-ancestors 'none'
        """
}
