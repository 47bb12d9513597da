internal import Coordinators
internal import JSONCoding
internal import MicroHTTP
internal import Sessions

// Pairing other devices with a session, and the session's tokens. A pairing code appears only in bodies, which are
// neither logged nor kept.
extension NavigationHandler {
    func openPairing(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let session = try await session(request)
        let body = try RequestBody(request, ["label", "role"], isOptional: true)
        let (label, role) = (try body.label, try body.string("role"))
        return try await translatingErrors { () async throws(SessionError) in
            let pairing = try await session.openPairing(label: label, role: role)
            var response = HTTPResponse.json(PairingBody(pairing: pairing), status: 201)
            response.markSecret()
            return response
        }
    }

    func pair(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let includesControls = try request.includesControls()
        let body = try RequestBody(request, ["code", "label", "role", "client"])
        let (code, label, client) = (try body.requiredString("code"), try body.label, try body.client)
        let role = try body.string("role")
        let once = try IdempotentRequest(request, body, leastCharacters: RequestKey.leastSecretBytes)
        // Not before: a page of another origin, whose requests get this far only if that origin may use the API, must not
        // use up its visitor's tries.
        let limit = try count(request, in: pairingRates, "pairings") { .tooManyTries(retryAfter: $0) }
        do throws(SessionError) {
            let paired = try await host.pair(code, label: label, role: role, client: client, once: once)
            var response = paired.response(includesControls: includesControls, below: basePath)
            response.headers.append(contentsOf: limit)
            return response
        } catch {
            throw Problem(error).with { $0.headers.append(contentsOf: limit) }
        }
    }

    func listTokens(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let session = try await session(request)
        return try await translatingErrors { () async throws(SessionError) in
            let (tokens, own) = try session.tokens()
            // In the same order as the tokens that they have.
            let devices = try session.devices()
            return .json { writer in
                writer.member("tokens", objects: zip(tokens, devices)) { writer, entry in
                    let (token, device) = entry
                    writer.member("number", token.number)
                    writer.member("label", ifAny: token.label)
                    writer.member("role", ifAny: device.role?.name)
                    writer.member("createdAt", Timestamp.text(of: token.createdAt))
                    writer.member("lastUsedAt", Timestamp.text(of: token.usedAt))
                    writer.member("firstVersion", token.firstVersion)
                    writer.member("isOwn", ifAny: token.number == own ? true : nil)
                }
            }
        }
    }

    func revokeToken(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let session = try await session(request)
        let condition = try EntityTag.condition(request.headers.values("If-Match"))
        return try await translatingErrors { () async throws(SessionError) in
            guard let number = request.lastNumber else { throw .unknownToken }
            let state = try await session.revokeToken(number, if: condition)
            return HTTPResponse(status: 204, headers: ["ETag": state.entityTag])
        }
    }
}
