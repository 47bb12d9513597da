internal import Coordinators
internal import JSONCoding
internal import MicroHTTP
internal import Sessions
internal import Synchronization

// Signals of other systems: they have a service's key, never a session's token, and get no state in the answer.
extension NavigationHandler {
    func postSignal(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        try await receiveSignal(request, from: try requireService(request))
    }

    /// - Parameter service: who has sent the request, and may.
    func receiveSignal(_ request: HTTPRequest, from service: String) async throws(Problem) -> HTTPResponse {
        let sent = try SentSignalRequest(request, from: service)
        guard let id = SessionID(request.name) else { throw Problem(.unknownSession) }
        do throws(SessionError) {
            let outcome = try await host.receive(sent.signal, for: id, once: sent.once)
            report(sent, .success(outcome), of: id)
            return outcome.response(includesControls: false)
        } catch {
            report(sent, .failure(error), of: id)
            throw Problem(error)
        }
    }

    func postSignalToUser(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let sent = try SentSignalRequest(request, from: try requireService(request))
        let outcomes = try await translatingErrors { () async throws(SessionError) in
            try await host.receive(sent.signal, forUser: request.name, once: sent.once)
        }
        for (id, outcome) in outcomes.received { report(sent, outcome, of: id) }
        return .json { writer in
            writer.member("sessions", objects: outcomes.received) { $0.outcome($1.1, of: $1.0) }
            writer.member("omitted", ifAny: outcomes.omitted == 0 ? nil : outcomes.omitted)
        }
    }

    private func report(_ sent: SentSignalRequest, _ outcome: Result<Outcome, SessionError>, of id: SessionID) {
        let words =
            switch outcome {
            case .success(let outcome): "received, version \(outcome.version)\(outcome.isReplay ? ", sent again" : "")"
            case .failure(let error): "refused: \(Problem(error).name)"
            }
        settings.reportSignal("signal from \(sent.service) to session \(id.text): \(words)")
    }

    private func requireService(_ request: HTTPRequest) throws(Problem) -> String {
        guard let service = service(request.headers) else {
            if request.headers.bearerToken != nil { wrongServiceKeys.wrappingAdd(1, ordering: .relaxed) }
            throw .unknownService
        }
        return service
    }

    /// The name of the service that sends the request; `nil` if it has no service's key.
    func service(_ headers: HTTPHeaders) -> String? {
        headers.bearerToken.flatMap { settings.serviceKeys?.name(ofKey: $0) }
    }
}

/// A signal of another system that may send it.
private struct SentSignalRequest {
    /// The name of the service.
    let service: String
    let signal: PostedEvent
    let once: IdempotentRequest

    init(_ request: HTTPRequest, from service: String) throws(Problem) {
        let body = try RequestBody(request, ["type", "payload"])
        guard let key = try IdempotencyKey(request.headers) else {
            throw .malformed("Idempotency-Key must be given, so that a signal that is sent again counts once.")
        }
        self.service = service
        once = IdempotentRequest(key: key.text, of: service, request: body.canonicalBytes) { applied in
            JSONWriter.bytes(capacity: 100) { writer in
                writer.object { writer in
                    writer.name("session")
                    writer.object { $0.session(applied.state.id, applied.state.version) }
                }
            }
        }
        signal = try PostedEvent(body)
    }
}

extension Problem {
    fileprivate static var unknownService: Problem {
        Problem(
            401, "unauthorized", "No right to send signals", "Send Authorization: Bearer with the key of a service.")
    }
}

extension JSONWriter {
    fileprivate mutating func session(_ id: SessionID, _ version: Int) {
        member("id", id.text)
        member("version", version)
    }

    /// What became of a signal in one of a user's sessions.
    fileprivate mutating func outcome(_ outcome: Result<Outcome, SessionError>, of id: SessionID) {
        switch outcome {
        case .success(let outcome): session(id, outcome.version)
        case .failure(let error):
            member("id", id.text)
            problem(Problem(error))
        }
    }

    /// A problem of a part of the answer.
    mutating func problem(_ problem: Problem) {
        name("problem")
        object { writer in
            writer.member("type", "urn:coordinatord:problem:\(problem.name)")
            writer.member("title", problem.title)
            writer.member("status", problem.status)
            writer.member("detail", problem.detail)
        }
    }
}
