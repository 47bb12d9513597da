internal import Coordinators
internal import JSONCoding
internal import TestSupport

/// Requests as clients send them: every route, every kind of header, the events of every app, and the heads of the
/// framing tests.
struct Requests {
    struct Session {
        let app: String
        let id: String
        let token: String
    }

    /// The bodies of events, by the app's name.
    private let events: [String: [String]]
    private let heads = FramingVectors.refused.map(\.request) + FramingVectors.accepted.map { Array("\($0)12345".utf8) }

    /// Without `clean-login`, whose only event hashes a password.
    let apps = Fuzz.apps.map(\.name).filter { $0 != "clean-login" }

    init() async throws {
        var events: [String: [String]] = [:]
        for walk in try await Fuzz.walks() { events[walk.app.name, default: []] += walk.bodies.map(\.description) }
        self.events = events
    }

    static func creation(of app: String) -> String {
        request("POST", "/v1/sessions", ["Connection: close"], body: "{\"app\":\"\(app)\"}")
    }

    func any(in session: Session, _ numbers: inout some RandomNumberGenerator) -> [UInt8] {
        switch Int.random(in: 0..<10, using: &numbers) {
        case 0: heads.randomElement(using: &numbers) ?? []
        case 1...5: Array(event(in: session, &numbers).utf8)
        default: Array(route(in: session, &numbers).utf8)
        }
    }

    private func event(in session: Session, _ numbers: inout some RandomNumberGenerator) -> String {
        let query = ["", "", "", "?dryRun=true", "?dryRun=false"].randomElement(using: &numbers) ?? ""
        let body = events[session.app]?.randomElement(using: &numbers) ?? "{}"
        let extra =
            [[], [], ["If-Match: \"1\", *"], ["Idempotency-Key: \(UInt8.random(in: 0...9, using: &numbers))"]]
            .randomElement(using: &numbers) ?? []
        return Requests.request(
            "POST", "/v1/sessions/\(session.id)/events\(query)", ["Authorization: Bearer \(session.token)"] + extra,
            body: body)
    }

    private func route(in session: Session, _ numbers: inout some RandomNumberGenerator) -> String {
        let path = "/v1/sessions/\(session.id)"
        let paths = [
            path, path, "\(path)/coordinators", "\(path)/history?limit=3&before=9", "\(path)/history/1", "/v1/sessions",
            "\(path)/outcomes/\(UInt8.random(in: 0...9, using: &numbers))", "\(path)/outcomes/%7F",
            "/v1/apps", "/v1/apps/\(session.app)", "/livez", "/readyz", "/openapi.yaml", "/metrics", "/v1/%C3%A9",
        ]
        let target = paths.randomElement(using: &numbers) ?? "/"
        let method = ["GET", "GET", "GET", "HEAD", "POST", "DELETE"].randomElement(using: &numbers) ?? "GET"
        let body = "{\"forkOf\":\"\(path)\",\"version\":1}"
        return Requests.request(
            method, target, ["Authorization: Bearer \(session.token)", "If-None-Match: \"1\", W/\"2\""],
            body: method == "POST" ? body : nil)
    }

    private static func request(_ method: String, _ target: String, _ headers: [String], body: String? = nil) -> String
    {
        let own = body.map { ["Content-Type: application/json", "Content-Length: \($0.utf8.count)"] } ?? []
        let lines = ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1"] + headers + own
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
    }
}
