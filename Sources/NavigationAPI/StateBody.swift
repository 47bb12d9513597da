internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import Sessions

/// A session's state as clients read it (DESIGN.md, section 5). What there is none of is left out: nothing is `null`.
struct StateBody: JSONWritable {
    let state: SessionState
    let transition: Transition?
    let token: SessionToken?

    init(_ state: SessionState, transition: Transition? = nil, token: SessionToken? = nil) {
        self.state = state
        self.transition = transition
        self.token = token
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
                writer.member("expiresAt", state.expiresAt.formatted(.iso8601))
            }
            if let visible = navigation.visible {
                writer.member("visible", ScreenBody(visible, in: navigation, showsTabs: false))
            }
            writer.member("stack", StackBody(navigation.stack, in: navigation))
            writer.member("alert", ifAny: navigation.alert.map(AlertBody.init))
            writer.member("back", ifAny: navigation.backPlan.map(BackBody.init))
            writer.member("events", navigation.acceptedEvents)
            writer.member("transition", ifAny: transition.map(TransitionBody.init))
        }
    }
}

private struct StackBody: JSONWritable {
    let stack: ScreenStack
    let navigation: NavigationState

    init(_ stack: ScreenStack, in navigation: NavigationState) {
        self.stack = stack
        self.navigation = navigation
    }

    func write(to writer: inout JSONWriter) {
        writer.array { writer in
            for screen in stack.screens { writer.value(ScreenBody(screen, in: navigation)) }
        }
    }
}

private struct ScreenBody: JSONWritable {
    let placed: PlacedScreen
    let navigation: NavigationState
    let showsTabs: Bool

    init(_ placed: PlacedScreen, in navigation: NavigationState, showsTabs: Bool = true) {
        self.placed = placed
        self.navigation = navigation
        self.showsTabs = showsTabs
    }

    func write(to writer: inout JSONWriter) {
        let screen = placed.screen
        writer.object { writer in
            writer.member("key", placed.key)
            writer.member("name", screen.name)
            writer.member("title", ifAny: screen.title)
            writer.member("params", ifAny: screen.params.isEmpty ? nil : screen.params)
            writer.member("coordinator", ifAny: navigation[placed.coordinator]?.name)
            if showsTabs, let tabs = placed.tabs { writer.member("tabs", TabsBody(tabs: tabs, navigation: navigation)) }
        }
    }
}

private struct TabsBody: JSONWritable {
    let tabs: PlacedTabs
    let navigation: NavigationState

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("selected", tabs.selected.id)
            writer.name("items")
            writer.array { writer in
                for item in tabs.items {
                    writer.object { writer in
                        writer.member("id", item.id)
                        writer.member("title", ifAny: item.title)
                        writer.member("stack", StackBody(item.stack, in: navigation))
                    }
                }
            }
        }
    }
}

private struct AlertBody: JSONWritable {
    let presented: PresentedAlert

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
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
}

private struct BackBody: JSONWritable {
    let plan: BackPlan

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch plan {
            case .dismissAlert: writer.member("effect", "dismissAlert")
            case .pop(_, let revealed):
                writer.member("effect", "pop")
                writer.member("to", revealed)
            }
        }
    }
}

private struct TransitionBody: JSONWritable {
    let transition: Transition

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("event", ifAny: transition.event)
            writer.member("operations", transition.operations.map(OperationBody.init))
            writer.member("finished", transition.finished)
        }
    }
}

private struct OperationBody: JSONWritable {
    let operation: Operation

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch operation {
            case .push(let key): writer.operation("push", key)
            case .pop(let key): writer.operation("pop", key)
            case .selectTab(let key, let tab):
                writer.operation("selectTab", key)
                writer.member("tab", tab)
            case .alert(let key): writer.operation("alert", key)
            case .dismissAlert(let key): writer.operation("dismissAlert", key)
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func operation(_ name: String, _ key: String) {
        member("op", name)
        member("key", key)
    }
}
