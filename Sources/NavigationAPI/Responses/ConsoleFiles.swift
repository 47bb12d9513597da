internal import MicroHTTP

/// The page's files, compiled in.
enum ConsoleFiles {
    private static let (script, style) = ("text/javascript; charset=utf-8", "text/css; charset=utf-8")

    /// For everybody's pages.
    static let clientModule = Document(file: "Console/client.js", type: script)

    static let all = Dictionary(
        uniqueKeysWithValues: [
            "console.css", "dom.js", "form.js", "history.js", "json.js", "main.js", "map.js", "phone.js", "server.js",
            "session.js", "state.js", "tree.js",
        ].map { ($0, Document(file: "Console/\($0)", type: $0.hasSuffix(".css") ? style : script)) })

    /// - Parameter depth: segments of the path at which it is sent.
    static func page(depth: Int) -> Document { pages[min(depth, pages.count) - 1] }

    private static let pages = ["console/", "./", "../"].map { base in
        let text = StaticBytes(file: "Console/console.html").text
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
