internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import MicroHTTP
internal import Sessions

/// A session's state as clients read it (`NavigationState` in `openapi.yaml`). Members without a value are left out,
/// never `null`.
struct StateBody: JSONWritable {
    private let state: SessionState
    private let transition: Transition?
    /// A transition that consists of several, instead of `transition`.
    private var joined: JSON?
    private let token: SessionToken?
    private let pairing: OpenPairing?
    private let includesControls: Bool

    init(
        _ state: SessionState, transition: Transition? = nil, token: SessionToken? = nil, pairing: OpenPairing? = nil,
        includesControls: Bool = false
    ) {
        self.state = state
        self.transition = transition
        self.token = token
        self.pairing = pairing
        self.includesControls = includesControls
    }

    init(_ event: SettledEvent, of outcome: Outcome, includesControls: Bool) {
        self.init(
            event.state, token: outcome.token, pairing: outcome.pairing, includesControls: includesControls)
        joined = event.transition
    }

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
                writer.name("presented")
                writer.array { writer in
                    for (position, flow) in navigation.presented.enumerated() {
                        writer.flow(flow, asks: navigation.asks(beforeDismissing: position))
                    }
                }
            }
            if let alert = navigation.alert {
                writer.name("alert")
                writer.alert(alert, of: navigation)
            }
            let plan = navigation.backPlan
            if let plan {
                writer.name("back")
                writer.back(plan, asks: navigation.asks(before: plan))
            }
            writer.name("events")
            writer.array { writer in navigation.forEachAcceptedType(plan) { writer.value($0) } }
            if !navigation.pending.isEmpty { writer.pending(navigation) }
            if includesControls {
                writer.name("controls")
                writer.array { writer in for control in navigation.controls { writer.control(control) } }
            }
            if let transition {
                writer.name("transition")
                writer.value(transition)
            } else if let joined {
                writer.member("transition", joined)
            }
        }
    }
}

// One function for each kind of value in a state. Functions, not `JSONWritable` types: each of those would hold a copy
// of the state.
extension JSONWriter {
    fileprivate mutating func flow(_ flow: PresentedFlow, asks: Bool) {
        object { writer in
            writer.member("key", flow.key)
            writer.member("style", flow.style.rawValue)
            writer.member("detent", ifAny: flow.detent?.rawValue)
            writer.member("isDismissable", ifAny: flow.isDismissable ? nil : false)
            writer.member("asks", ifAny: asks ? true : nil)
            writer.member("stack", flow.stack)
        }
    }

    fileprivate mutating func alert(_ presented: PresentedAlert, of state: NavigationState) {
        object { writer in
            writer.member("key", presented.key)
            writer.member("title", presented.alert.title)
            writer.member("message", ifAny: presented.alert.message)
            writer.name("buttons")
            writer.array { writer in
                for button in presented.alert.buttons {
                    writer.object { writer in
                        writer.member("id", button.id)
                        writer.member("title", button.title)
                        writer.member("role", ifAny: button.role?.rawValue)
                        writer.member("isEnabled", ifAny: state.mayPress(button, of: presented) ? nil : false)
                    }
                }
            }
        }
    }

    /// The effects under way; nothing if there are none.
    fileprivate mutating func pending(_ navigation: NavigationState) {
        guard navigation.hasEffects else { return }
        name("pending")
        array { writer in
            for work in navigation.pending {
                guard let effect = work.effect, let since = work.since else { continue }
                writer.object { writer in
                    writer.member("id", work.id)
                    writer.member("effect", effect)
                    writer.member("coordinator", ifAny: navigation[work.coordinator]?.name)
                    writer.member("since", Timestamp.text(of: since))
                }
            }
        }
    }

    fileprivate mutating func control(_ control: AcceptedControl) {
        object { writer in
            writer.member("type", control.type)
            writer.member("payload", ifAny: control.payload)
            writer.member("coordinator", ifAny: control.coordinator)
            writer.member("title", control.title)
            writer.member("role", control.role.rawValue)
            writer.member("place", control.place.rawValue)
            writer.member("schema", ifAny: control.schema)
            writer.member("example", ifAny: control.example)
        }
    }

    fileprivate mutating func back(_ plan: BackPlan, asks: Bool) {
        object { writer in
            switch plan {
            case .dismissAlert: writer.member("effect", word: "dismissAlert")
            case .pop(_, let revealed):
                writer.member("effect", word: "pop")
                writer.member("to", revealed)
            case .dismiss(_, let revealed):
                writer.member("effect", word: "dismiss")
                writer.member("to", revealed)
            case .selectTab(_, _, let revealed):
                writer.member("effect", word: "selectTab")
                writer.member("to", revealed)
            }
            writer.member("asks", ifAny: asks ? true : nil)
        }
    }
}

extension HTTPResponse {
    /// - Parameter outcome: the event's.
    init(_ event: SettledEvent, of outcome: Outcome, includesControls: Bool) {
        self = .json(StateBody(event, of: outcome, includesControls: includesControls))
        headers.append("ETag", event.state.entityTag)
        if outcome.token != nil || outcome.pairing != nil { markSecret() }
    }
}

extension Outcome {
    func response(includesControls: Bool) -> HTTPResponse { response(includesControls, token: token) }

    /// - Parameters:
    ///   - includesControls: has no effect on a kept answer, which is sent as it was kept.
    ///   - token: written before the state, as a pairing code is, because a kept answer contains neither.
    fileprivate func response(_ includesControls: Bool, status: Int = 200, token: SessionToken?) -> HTTPResponse {
        var response: HTTPResponse
        switch self {
        case .applied(let applied):
            let body = StateBody(
                applied.state, transition: applied.transition, token: token, pairing: applied.pairing,
                includesControls: includesControls)
            response = .json(body, status: status)
            response.headers.append("ETag", applied.state.entityTag)
            if token != nil || applied.pairing != nil { response.markSecret() }
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
            response = .json(body, status: status)
            if token != nil || pairing != nil { response.markSecret() }
            let tag = VersionTag(answer.version, generation: generation)
            response.headers.append("ETag", EntityTag.text(tag, drawing: answer.drawing))
            if let replayedAt {
                response.headers.append("Idempotency-Replayed", "true")
                response.headers.append("Session-Version", String(replayedAt))
            }
        }
        return response
    }
}

extension CreatedSession {
    /// - Parameter basePath: what the session's path begins with; empty if nothing.
    func response(includesControls: Bool, below basePath: String) -> HTTPResponse {
        var response = outcome.response(includesControls, status: 201, token: token)
        response.headers.append("Location", "\(basePath)/v1/sessions/\(id.text)")
        return response
    }
}
