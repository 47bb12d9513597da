internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import MicroHTTP
internal import Sessions

/// A session's state as clients read it (`NavigationState` in `openapi.yaml`). Members without a value are left out,
/// never `null`.
struct StateBody: JSONWritable {
    let state: SessionState
    var transition: Transition?
    /// A transition that consists of several, instead of `transition`.
    var joined: JSON?
    var token: SessionToken?
    var pairing: OpenPairing?
    var includesControls = false

    func write(to writer: inout JSONWriter) {
        let navigation = state.navigation
        writer.object { writer in
            writer.member("token", ifAny: token?.text)
            writer.member("pairing", ifAny: pairing.map(PairingBody.init))
            writer.name("session")
            writer.object { writer in
                writer.member("id", state.id.text)
                writer.member("app", state.app)
                writer.member("version", state.version)
                writer.member("expiresAt", Timestamp.text(of: state.expiresAt))
            }
            if let visible = navigation.visible {
                writer.name("visible")
                writer.object { $0.encoded(visible.encodedMembers) }
            }
            writer.member("stack", navigation.stack)
            if !navigation.presented.isEmpty {
                writer.member("presented", objects: navigation.presented.enumerated()) { writer, entry in
                    writer.flow(entry.element, asks: navigation.asks(beforeDismissing: entry.offset))
                }
            }
            if let alert = navigation.alert {
                writer.name("alert")
                writer.object { $0.alert(alert, of: navigation) }
            }
            let plan = navigation.backPlan
            if let plan {
                writer.name("back")
                writer.object { $0.back(plan, asks: navigation.asks(before: plan)) }
            }
            writer.name("events")
            writer.array { writer in navigation.forEachAcceptedType(plan) { writer.value($0) } }
            if !navigation.pending.isEmpty { writer.pending(navigation) }
            if includesControls { writer.member("controls", objects: navigation.controls) { $0.control($1) } }
            if let transition { writer.member("transition", transition) }
            writer.member("transition", ifAny: joined)
        }
    }
}

// One function for the members of each kind of value in a state. Functions, not `JSONWritable` types: each of those
// would hold a copy of the state.
extension JSONWriter {
    fileprivate mutating func flow(_ flow: PresentedFlow, asks: Bool) {
        member("key", flow.key)
        member("style", flow.style.rawValue)
        member("detent", ifAny: flow.detent?.rawValue)
        member("isDismissable", ifAny: flow.isDismissable ? nil : false)
        member("asks", ifAny: asks ? true : nil)
        member("stack", flow.stack)
    }

    fileprivate mutating func alert(_ presented: PresentedAlert, of state: NavigationState) {
        member("key", presented.key)
        member("title", presented.alert.title)
        member("message", ifAny: presented.alert.message)
        member("buttons", objects: presented.alert.buttons) { writer, button in
            writer.member("id", button.id)
            writer.member("title", button.title)
            writer.member("role", ifAny: button.role?.rawValue)
            writer.member("isEnabled", ifAny: state.mayPress(button, of: presented) ? nil : false)
        }
    }

    /// The effects under way; nothing if there are none.
    fileprivate mutating func pending(_ navigation: NavigationState) {
        guard navigation.hasEffects else { return }
        let effects = navigation.pending.lazy.filter { $0.effect != nil && $0.since != nil }
        member("pending", objects: effects) { writer, work in
            writer.member("id", work.id)
            writer.member("effect", ifAny: work.effect)
            writer.member("coordinator", ifAny: navigation[work.coordinator]?.name)
            writer.member("since", ifAny: work.since.map(Timestamp.text(of:)))
        }
    }

    fileprivate mutating func control(_ control: AcceptedControl) {
        member("type", control.type)
        member("payload", ifAny: control.payload)
        member("coordinator", ifAny: control.coordinator)
        member("title", control.title)
        member("role", control.role.rawValue)
        member("place", control.place.rawValue)
        member("schema", ifAny: control.schema)
        member("example", ifAny: control.example)
    }

    fileprivate mutating func back(_ plan: BackPlan, asks: Bool) {
        switch plan {
        case .dismissAlert: member("effect", word: "dismissAlert")
        case .pop(_, let revealed):
            member("effect", word: "pop")
            member("to", revealed)
        case .dismiss(_, let revealed):
            member("effect", word: "dismiss")
            member("to", revealed)
        case .selectTab(_, _, let revealed):
            member("effect", word: "selectTab")
            member("to", revealed)
        }
        member("asks", ifAny: asks ? true : nil)
    }
}

extension HTTPResponse {
    /// A state with its tag.
    init(_ body: StateBody, status: Int = 200) {
        self = .json(body, status: status)
        headers.append("ETag", body.state.entityTag)
        if body.token != nil || body.pairing != nil { markSecret() }
    }
}

extension Outcome {
    /// - Parameters:
    ///   - includesControls: has no effect on a kept answer, which is sent as it was kept.
    ///   - created: the token of a session that was just created.
    func response(includesControls: Bool, status: Int = 200, created: SessionToken? = nil) -> HTTPResponse {
        // Written before the state, as a pairing code is, because a kept answer contains neither.
        let token = created ?? token
        switch self {
        case .applied(let applied):
            let body = StateBody(
                state: applied.state, transition: applied.transition, token: token, pairing: applied.pairing,
                includesControls: includesControls)
            return HTTPResponse(body, status: status)
        case .answered(let answer, let generation, let replayedAt, _, let pairing):
            // An answer has a body; if that is no longer kept, an error was thrown instead.
            var body = answer.body ?? []
            if token != nil || pairing != nil {
                let secrets = JSONWriter.bytes(capacity: 200) { writer in
                    writer.object { writer in
                        writer.member("token", ifAny: token?.text)
                        writer.member("pairing", ifAny: pairing.map(PairingBody.init))
                    }
                }
                body = secrets.dropLast() + [UInt8(ascii: ",")] + body.dropFirst()
            }
            var response = HTTPResponse.json(body, status: status)
            if token != nil || pairing != nil { response.markSecret() }
            let tag = VersionTag(answer.version, generation: generation)
            response.headers.append("ETag", EntityTag.text(tag, drawing: answer.drawing))
            if let replayedAt {
                response.headers.append("Idempotency-Replayed", "true")
                response.headers.append("Session-Version", String(replayedAt))
            }
            return response
        }
    }
}

extension CreatedSession {
    /// - Parameter basePath: what the session's path begins with; empty if nothing.
    func response(includesControls: Bool, below basePath: String) -> HTTPResponse {
        var response = outcome.response(includesControls: includesControls, status: 201, created: token)
        response.headers.append("Location", "\(basePath)/v1/sessions/\(id.text)")
        return response
    }
}
