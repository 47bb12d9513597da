internal import Coordinators
internal import JSONCoding
internal import Sodium

extension SessionHost {
    /// What the handlers of a transition may know about its request.
    ///
    /// - Parameters:
    ///   - event: `nil` for the first transition of a session, and for one that a new declaration of its app makes.
    ///   - user: who is signed in to the session before.
    ///   - version: the session's version before.
    func origin(
        of event: PostedEvent?, _ id: SessionID, user: String?, version: Int, once: IdempotentRequest? = nil,
        isDryRun: Bool = false
    ) -> TransitionOrigin {
        TransitionOrigin(
            session: id.text, user: user, isDryRun: isDryRun, directory: HostDirectory(host: self)
        ) { [secret = store.secret] in
            let request = once.map { "key \($0.secretKey)" } ?? "version \(version)"
            let payload = event?.payload?.description ?? ""
            let text = "transition \(isDryRun) \(id.text) \(request) \(event?.type ?? "") \(payload)"
            return "t_" + Base64URL.text(of: Array(KeyedDigest(of: text, key: secret).bytes.prefix(18)))
        }
    }

    /// Logs the error of a handler that its app has turned into an alert.
    func report(_ failure: NavigationError, in id: SessionID, of app: App) {
        guard case .handlerFailed(let coordinator, let call, let error) = failure else { return }
        report(
            "\(app.name), session \(id.text): \(coordinator) failed in \(call): \(error); the user is shown an alert")
    }
}
