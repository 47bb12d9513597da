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
    ///   - more: fields of the answer that has the body.
    init(_ body: [UInt8], type: String, isPrivate: Bool = false, more: HTTPHeaders = [:]) {
        tag = "\"\(SHA256Digest(of: body).hex.prefix(32))\""
        var headers: HTTPHeaders = [
            "ETag": tag, "Cache-Control": isPrivate ? "private, no-cache" : "no-cache",
            "X-Content-Type-Options": "nosniff",
        ]
        unchanged = HTTPResponse(status: 304, headers: headers)
        headers.append("Content-Type", type)
        headers.append(contentsOf: more)
        whole = HTTPResponse(status: 200, headers: headers, body: body)
    }

    init(_ body: some JSONWritable) {
        self.init(body.bytes, type: "application/json")
    }

    /// Without the body if the client has it.
    func response(to request: HTTPRequest) -> HTTPResponse {
        EntityTag.matches(request.headers.values("If-None-Match"), tag) ? unchanged : whole
    }
}

// Documents of the repository, compiled in.
extension Document {
    /// The API's description.
    static let openAPI = Document(PackageResources.openapi_yaml, type: "application/yaml")

    /// The same as JSON, which `scripts/describe` writes.
    static let openAPIAsJSON = Document(PackageResources.openapi_json, type: "application/json")

    /// What each problem means, and what to do about it: `docs/problems.md`.
    static let problems = Document(PackageResources.problems_md, type: markdown)

    /// The sections of `problems`, by the problem's name.
    static let sections: [String: Document] = {
        let heading = "\n## "
        let sections = String(decoding: PackageResources.problems_md, as: UTF8.self).split(separator: heading)
        return Dictionary(
            uniqueKeysWithValues: sections.dropFirst().map { section in
                let name = section.prefix { $0 != "\n" }
                return (String(name), Document(Array("# \(section)\n".utf8), type: markdown))
            })
    }()

    private static let markdown = "text/markdown; charset=utf-8"
}
