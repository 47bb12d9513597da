internal import MicroHTTP
internal import Sessions

// Pairing other devices with a session, and the session's tokens. A pairing code appears only in bodies, which are
// neither logged nor kept.
extension NavigationHandler {
    func openPairing(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let session = try await session(request)
        let body = try RequestBody(request, PairingRequest.members, isOptional: true)
        let (label, role) = (try PairingRequest.label(body), try body.string("role"))
        return try await translatingErrors { () async throws(SessionError) in
            var response = HTTPResponse.json(
                PairingBody(try await session.openPairing(label: label, role: role)), status: 201)
            response.markSecret()
            return response
        }
    }

    func pair(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let includesControls = try request.includesControls()
        let body = try RequestBody(request, PairingRequest.membersWithCode)
        let (code, label, client) = (try PairingRequest.code(body), try PairingRequest.label(body), try body.client)
        let role = try body.string("role")
        let least = RequestKey.leastSecretBytes
        let once = try IdempotentRequest(request, body, leastCharacters: least)
        // Not before: a page of another origin, whose requests get this far only if that origin may use the API, must not
        // use up its visitor's tries.
        let limit = try countPairing(request)
        do throws(SessionError) {
            let paired = try await host.pair(code, label: label, role: role, client: client, once: once)
            var response = paired.response(includesControls: includesControls, below: basePath)
            response.headers.append(contentsOf: limit)
            return response
        } catch {
            throw Problem(error).with { $0.headers.append(contentsOf: limit) }
        }
    }

    /// Counts a code that an address sends, whether it is right or wrong.
    ///
    /// - Returns: the fields that describe the limit.
    private func countPairing(_ request: HTTPRequest) throws(Problem) -> HTTPHeaders {
        guard let pairingRates, let client = request.client(behind: proxies) else { return [:] }
        let (wait, remaining) = pairingRates.take(client, at: now())
        let limit = HTTPHeaders.rateLimit(
            "pairings", rate: pairingRates.rate, in: pairingRates.period, remaining: remaining)
        if let wait { throw Problem.tooManyTries(retryAfter: wait).with { $0.headers.append(contentsOf: limit) } }
        return limit
    }

    func listTokens(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let session = try await session(request)
        return try await translatingErrors { () async throws(SessionError) in
            let (tokens, own) = try session.tokens()
            return .json(TokensBody(tokens, of: try session.devices(), own: own))
        }
    }

    func revokeToken(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
        let session = try await session(request)
        let condition = try EntityTag.condition(request.headers.values("If-Match"))
        return try await translatingErrors { () async throws(SessionError) in
            let text = request.target.segments[4]
            guard let number = Int(text), number > 0, String(number) == text else { throw .unknownToken }
            let state = try await session.revokeToken(number, if: condition)
            return HTTPResponse(status: 204, headers: ["ETag": state.entityTag])
        }
    }
}
