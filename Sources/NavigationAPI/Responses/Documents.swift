internal import MicroHTTP

/// Documents of the repository, compiled in.
enum Document {
    /// The API's description.
    static let openAPI = response(PackageResources.openapi_yaml, "application/yaml")

    /// What each problem means, and what to do about it: `docs/problems.md`.
    static let problems = response(PackageResources.problems_md, markdown)

    /// The sections of `problems`, by the problem's name.
    private static let sections: [String: HTTPResponse] = {
        let heading = "\n## "
        let sections = String(decoding: PackageResources.problems_md, as: UTF8.self).split(separator: heading)
        return Dictionary(
            uniqueKeysWithValues: sections.dropFirst().map { section in
                let name = section.prefix { $0 != "\n" }
                return (String(name), response(Array("# \(section)\n".utf8), markdown))
            })
    }()

    /// - Returns: `nil` if there is no such problem.
    static func problem(_ name: String) -> HTTPResponse? { sections[name] }

    private static let markdown = "text/markdown; charset=utf-8"

    private static func response(_ body: [UInt8], _ type: String) -> HTTPResponse {
        HTTPResponse(status: 200, headers: ["Content-Type": type, "X-Content-Type-Options": "nosniff"], body: body)
    }
}
