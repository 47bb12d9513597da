internal import JSONCoding
internal import MicroHTTP

extension JSONWritable {
    /// As JSON text.
    var bytes: [UInt8] {
        JSONWriter.bytes(capacity: 1024) { writer in write(to: &writer) }
    }
}

extension HTTPResponse {
    static func json(_ body: some JSONWritable, status: Int = 200, isProblem: Bool = false) -> HTTPResponse {
        HTTPResponse(status: status, headers: isProblem ? problemHeaders : jsonHeaders, body: body.bytes)
    }

    /// - Parameter body: JSON text.
    static func json(_ body: [UInt8], status: Int) -> HTTPResponse {
        HTTPResponse(status: status, headers: jsonHeaders, body: body)
    }

    /// An object, written by a function.
    static func json(_ members: (inout JSONWriter) -> Void) -> HTTPResponse {
        json(JSONWriter.bytes(capacity: 1024) { writer in writer.object(members) }, status: 200)
    }

    /// The answer to OPTIONS (RFC 9110, section 9.3.7).
    static func allowing(_ methods: [String]) -> HTTPResponse {
        HTTPResponse(status: 204, headers: ["Allow": methods.joined(separator: ", ")])
    }

    static let notModified = HTTPResponse(
        status: 304, headers: ["Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"])

    private static let jsonHeaders: HTTPHeaders = [
        "Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
    ]
    private static let problemHeaders: HTTPHeaders = [
        "Content-Type": "application/problem+json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
    ]
}
