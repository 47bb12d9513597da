internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import Sessions

/// A session's state as clients read it (`State` in `openapi.yaml`). Absent members are left out: nothing is `null`.
struct StateBody: JSONWritable {
    private let state: SessionState
    private let transition: Transition?
    private let token: SessionToken?
    private let includesControls: Bool

    init(
        _ state: SessionState, transition: Transition? = nil, token: SessionToken? = nil, includesControls: Bool = false
    ) {
        self.state = state
        self.transition = transition
        self.token = token
        self.includesControls = includesControls
    }

    func write(to writer: inout JSONWriter) {
        let navigation = state.navigation
        writer.object { writer in
            writer.member("token", ifAny: token?.text)
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
                writer.array { writer in for flow in navigation.presented { writer.flow(flow) } }
            }
            if let alert = navigation.alert {
                writer.name("alert")
                writer.alert(alert)
            }
            if let plan = navigation.backPlan {
                writer.name("back")
                writer.back(plan, asks: navigation.asks(before: plan))
            }
            writer.member("events", navigation.acceptedEvents)
            if includesControls {
                writer.name("controls")
                writer.array { writer in for control in navigation.controls { writer.control(control) } }
            }
            if let transition {
                writer.name("transition")
                writer.value(transition)
            }
        }
    }
}

// One function for each kind of value in a state. Functions, not `JSONWritable` types: each of those would hold a copy
// of the state.
extension JSONWriter {
    fileprivate mutating func flow(_ flow: PresentedFlow) {
        object { writer in
            writer.member("key", flow.key)
            writer.member("style", flow.style.rawValue)
            writer.member("detent", ifAny: flow.detent?.rawValue)
            writer.member("isDismissable", ifAny: flow.isDismissable ? nil : false)
            writer.member("stack", flow.stack)
        }
    }

    fileprivate mutating func alert(_ presented: PresentedAlert) {
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
                    }
                }
            }
        }
    }

    fileprivate mutating func control(_ control: AcceptedControl) {
        object { writer in
            writer.member("type", control.type)
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
