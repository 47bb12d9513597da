@testable internal import Coordinators
internal import JSONCoding
internal import MicroHTTP
@testable internal import NavigationAPI

/// The first line names an app; each further line is the body of an event, posted to a session of it. None breaks it.
enum PostedEvents: FuzzTarget {
    static var seeds: [[UInt8]] {
        get async throws {
            let examples = Fuzz.apps.flatMap { app in
                app.coordinators.flatMap(\.events).map { (app.name, [PostedEvent($0.name, payload: $0.payload).body]) }
            }
            let walks = try await Fuzz.walks().map { ($0.app.name, $0.bodies) }
            return (examples + walks).map { name, bodies in
                Array(([name] + bodies.map(\.description)).joined(separator: "\n").utf8)
            }
        }
    }

    static func check(_ input: [UInt8]) {
        let lines = input.split(separator: UInt8(ascii: "\n"))
        guard let name = lines.first, var session = sessions[String(decoding: name, as: UTF8.self)] else { return }
        for line in lines.dropFirst().prefix(Fuzz.walkLength) {
            guard let body = try? RequestBody(request(Array(line)), PostedEvent.members),
                let event = try? PostedEvent(body)
            else { continue }
            if case .invariantViolated(let violation) = session.post(event) {
                fatalError("broken: the invariants hold: \(violation)")
            }
        }
    }

    private static let sessions = Dictionary(
        uniqueKeysWithValues: Fuzz.apps.compactMap { app in Session(launching: app).map { (app.name, $0) } })

    private static let target = HTTPTarget("/")

    private static func request(_ body: [UInt8]) throws -> HTTPRequest {
        let headers: HTTPHeaders = ["Content-Type": "application/json", "Content-Length": "\(body.count)"]
        guard let target else { fatalError("no target") }
        return HTTPRequest(method: "POST", target: target, headers: headers, body: body)
    }
}
