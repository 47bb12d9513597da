internal import CFiles
internal import JSONCoding
internal import MicroHTTP
internal import Sodium

/// A body that stays the same while the server runs. Its entity tag changes with it, so clients and caches load it only
/// once from each build of the server and its apps.
struct Document: Sendable {
    private let tag: String
    private let whole: HTTPResponse
    private let unchanged: HTTPResponse

    /// - Parameters:
    ///   - isPrivate: whether only one client may see it, so that no shared cache may keep it.
    ///   - more: fields that only the answer with the body has.
    init(_ body: [UInt8], type: String, isPrivate: Bool = false, more: HTTPHeaders = [:]) {
        self.init(.bytes(body), SHA256Digest(of: body), type: type, isPrivate: isPrivate, more: more)
    }

    init(_ body: some JSONWritable) {
        self.init(body.bytes, type: "application/json")
    }

    /// A file that is compiled in.
    init(file name: String, type: String) {
        let bytes = StaticBytes(file: name)
        self.init(.constant(bytes), SHA256Digest(of: bytes.buffer), type: type, isPrivate: false, more: [:])
    }

    private init(
        _ body: HTTPResponse.Body, _ digest: SHA256Digest, type: String, isPrivate: Bool, more: HTTPHeaders
    ) {
        tag = "\"\(digest.hex.prefix(32))\""
        var headers: HTTPHeaders = [
            "ETag": tag, "Cache-Control": isPrivate ? "private, no-cache" : "no-cache",
            "X-Content-Type-Options": "nosniff",
        ]
        unchanged = HTTPResponse(status: 304, headers: headers)
        headers.append("Content-Type", type)
        headers.append(contentsOf: more)
        var whole = HTTPResponse(status: 200, headers: headers)
        whole.body = body
        self.whole = whole
    }

    /// The answer, without the body if the client has it already.
    func response(to request: HTTPRequest) -> HTTPResponse {
        EntityTag.matches(request.headers.values("If-None-Match"), tag) ? unchanged : whole
    }
}

// Documents of the repository, compiled in.
extension Document {
    /// The API's description.
    static let openAPI = Document(file: "openapi.yaml", type: "application/yaml")

    /// What each problem means, and what to do about it: `docs/problems.md`.
    static let problems = Document(file: "problems.md", type: markdown)

    /// The sections of `problems`, by the problem's name.
    static let sections: [String: Document] = {
        let heading = "\n## "
        let sections = StaticBytes(file: "problems.md").text.split(separator: heading)
        return Dictionary(
            uniqueKeysWithValues: sections.dropFirst().map { section in
                let name = section.prefix { $0 != "\n" }
                return (String(name), Document(Array("# \(section)\n".utf8), type: markdown))
            })
    }()

    /// The client library, which any page may load.
    static let clientModule = Document(file: "client.js", type: script)

    static let script = "text/javascript; charset=utf-8"
    private static let markdown = "text/markdown; charset=utf-8"
}

extension StaticBytes {
    /// A file that is compiled in.
    init(file name: String) {
        let file = CFiles_find(name)
        self.init(UnsafeBufferPointer(start: file.bytes, count: file.count))
    }

    var text: String { String(decoding: buffer, as: UTF8.self) }
}
