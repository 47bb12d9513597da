internal import JSONCoding

/// Begins to carry out the events that clients post.
extension TransitionRun {
    mutating func begin(_ event: PostedEvent) throws(NavigationError) {
        if let agreement = state.agreement, event.type != BuiltInEvent.describeClient.rawValue {
            state.agreement = nil
            if covers(agreement, event) { agree(to: agreement.question) }
        }
        if let builtIn = BuiltInEvent(rawValue: event.type) {
            try begin(builtIn, payload: event.payload)
            settle()
        } else if let alert = state.alert, alert.askedFor == event.type {
            throw .answerFirst
        } else {
            try route(event)
        }
    }

    /// Whether this is what the user has agreed to: the same event with the same payload, from the device that was asked.
    private func covers(_ agreement: Agreement, _ event: PostedEvent) -> Bool {
        guard agreement.event == event.type else { return false }
        guard let question = agreement.question else { return true }
        return question.device == deviceNumber && question.payload == app.checksum(of: event)
    }

    /// The screens that the user was asked about may be left.
    private mutating func agree(to question: Question?) {
        guard let question else { return leavesWithoutAsking = true }
        agreedScreens = question.screens
    }

    /// The number of the device that posted the event.
    var deviceNumber: Int { device?.number ?? NavigationState.firstDevice }

    /// Sends the event to the first coordinator that accepts it, from the visible screen's up to the root.
    private mutating func route(_ event: PostedEvent) throws(NavigationError) {
        guard let (coordinator, shape) = recipient(of: event) else {
            guard app.hasEvent(event.type) || app.aliases[event.type] != nil else { throw .unknownEvent }
            if state.isForOthers(event.type) { throw state.notForRole }
            throw state.acceptedEvents.contains(event.type) ? .payloadNotOffered : .eventNotAccepted
        }
        let fields = coordinator.type.fields?(coordinator.coordinator, shape.number, state.context)
        agenda.append(.call(.handle(shape, event: try shape.decodable(event.payload, fields)), coordinator.id))
    }

    /// The coordinator that accepts an event, which may be posted under a former name.
    private func recipient(of event: PostedEvent) -> (coordinator: LivingCoordinator, event: EventShape)? {
        if let number = app.eventNumbers.byName[event.type],
            let found = state.recipient(of: number, with: event.payload)
        {
            return found
        }
        for number in app.aliases[event.type] ?? [] {
            if let found = state.recipient(of: number, with: event.payload),
                found.coordinator.type.aliases[event.type] == found.event.name
            {
                return found
            }
        }
        return nil
    }

    private mutating func begin(_ event: BuiltInEvent, payload: JSON?) throws(NavigationError) {
        guard state.accepts(event, goesBack: state.backPlan != nil) else {
            if state.isForOthers(event) { throw state.notForRole }
            let goesBack = event == .back || event == .backTo || event == .backToRoot
            throw state.alert == nil && goesBack ? .nothingToGoBack : .eventNotAccepted
        }
        switch event {
        case .back:
            try requireNoPayload(payload, of: event)
            try goBack(state.backPlan)
        case .backTo: try goBack(to: payload)
        case .backToRoot:
            try requireNoPayload(payload, of: event)
            drop(state.screensAboveRoot)
        case .selectTab: try selectTab(payload)
        case .dismiss: try dismiss(payload)
        case .answer: try answer(payload)
        case .open: try open(payload)
        case .relaunch:
            try requireNoPayload(payload, of: event)
            try relaunch()
        case .describeClient:
            do {
                state.client = try ClientInfo(payload ?? [:])
            } catch {
                throw .invalidEvent(.init([PayloadFault(error, at: ["payload"] + error.path)]))
            }
        }
    }

    private mutating func goBack(_ plan: BackPlan?) throws(NavigationError) {
        switch plan {
        case .dismissAlert?:
            if let button = state.alert?.alert.cancelButton { try press(button) }
        case .pop(let key, _)?: drop { $0.key == key }
        case .dismiss?: dismissFlows(from: state.presented.count - 1)
        case .selectTab(let key, let position, _)?:
            guard let tab = selectPrevious(position, of: key) else { return }
            noteLeft()
            let owner = state.screens.first { $0.key == key }?.coordinator
            if let delegate = tabBarDelegate(owner) { agenda.append(.call(.didSelectTab(tab), delegate)) }
        case nil: break
        }
    }

    private mutating func goBack(to payload: JSON?) throws(NavigationError) {
        let target: ScreenReference
        switch onlyMember(of: payload) {
        case ("key", .string(let key))?: target = .key(key)
        case ("name", .string(let name))?: target = .name(name)
        default: throw .invalidPayload("must have either “key” or “name”, a string, and nothing else")
        }
        for stack in state.visibleStacks.reversed() {
            guard let index = stack.screens.dropLast().lastIndex(where: target.matches) else { continue }
            return drop(stack.screens[(index + 1)...])
        }
        throw .invalidPayload("names no screen to go back to", at: payload?.object?.names ?? [])
    }

    private mutating func selectTab(_ payload: JSON?) throws(NavigationError) {
        guard let choice = payload?.object, choice.count == 1 else { throw TransitionRun.noTabChosen }
        let target: (screen: PlacedScreen, position: Int)?
        if let id = choice["tab"]?.string {
            target = state.topStack.visibleTab { $0.position(of: id) }
        } else if let index = choice["index"]?.integer {
            target = state.topStack.visibleTab { $0.items.indices.contains(index) ? index : nil }
        } else {
            throw TransitionRun.noTabChosen
        }
        guard let (screen, position) = target, let tabs = screen.tabs else {
            throw .invalidPayload("names no tab", at: choice.names)
        }
        guard tabs.selection == position else {
            if let delegate = tabBarDelegate(screen.coordinator) {
                let tab = tabs.items[position].id
                return agenda.append(.call(.shouldSelectTab(tab, ofScreen: screen.key), delegate))
            }
            noteLeft()
            return select(position, of: screen)
        }
        guard state.mayGoBack else { return }
        drop(tabs.selected.stack.screens.dropFirst())
    }

    /// - Parameter owner: the id of the coordinator whose tab the user selects.
    /// - Returns: `owner` if that coordinator is a `TabBarDelegate`, otherwise `nil`.
    private func tabBarDelegate(_ owner: Int?) -> Int? {
        owner.flatMap { state[$0] }.flatMap { $0.type.isTabBarDelegate ? $0.id : nil }
    }

    /// Asks the coordinator at a position whether the user may select a tab of its screen. If so, puts the selection on
    /// the agenda.
    mutating func callShouldSelectTab(
        _ tab: String, ofScreen key: String, at index: Int
    ) async throws(NavigationError) {
        let living = state.coordinators[index]
        guard var delegate = living.coordinator as? any TabBarDelegate else { return }
        var navigator = navigator(for: living)
        let call = Call.shouldSelectTab(tab, ofScreen: key)
        var isSelected = false
        do {
            try await surround(RunningCall(call, of: living)) {
                isSelected = try await delegate.shouldSelectTab(tab, &navigator)
            }
        } catch {
            return try fail(with: error, thrownBy: call, of: living)
        }
        if isSelected { agenda.append(.selectTab(tab, ofScreen: key, by: living.id)) }
        try accept(delegate, &navigator, at: index)
    }

    /// Selects a tab that the delegate has not refused, unless a coordinator objects to leaving the visible screen.
    mutating func selectTab(_ tab: String, ofScreen key: String) {
        guard let screen = state.screens.first(where: { $0.key == key }), let position = screen.tabs?.position(of: tab)
        else { return }
        noteLeft()
        select(position, of: screen)
        if let delegate = tabBarDelegate(screen.coordinator) { agenda.append(.call(.didSelectTab(tab), delegate)) }
    }

    private static let noTabChosen = NavigationError.invalidPayload(
        "must have either “tab”, a string, or “index”, an integer, and nothing else")

    private mutating func dismiss(_ payload: JSON?) throws(NavigationError) {
        if payload == nil || payload == [:] { return dismissFlows(from: state.presented.count - 1) }
        guard case ("key", .string(let key))? = onlyMember(of: payload) else {
            throw .invalidPayload("must have “key”, a string, and nothing else, or be left out")
        }
        guard let position = state.presented.firstIndex(where: { $0.key == key }) else {
            throw .invalidPayload("names no presented flow", at: ["key"])
        }
        guard position >= state.lowestDismissable ?? position else {
            throw .invalidPayload("names a flow below one that the user cannot dismiss", at: ["key"])
        }
        dismissFlows(from: position)
    }

    private mutating func answer(_ payload: JSON?) throws(NavigationError) {
        let answer = payload?.object ?? [:]
        guard let id = answer["button"]?.string, answer["alert"].map({ $0.string != nil }) ?? true,
            answer.names.allSatisfy(["button", "alert"].contains)
        else { throw .invalidPayload("must have “button”, a string, may have “alert”, a string, and nothing else") }
        // The user answered an alert that is no longer shown.
        if let alert = answer["alert"]?.string, alert != state.alert?.key { throw .staleScreen }
        guard let button = state.alert?.alert.buttons.first(where: { $0.id == id }) else {
            throw .invalidPayload("names no button", at: ["button"])
        }
        if let alert = state.alert, !state.mayPress(button, of: alert) { throw state.notForRole }
        try press(button)
    }

    /// Dismisses the alert; then continues the event that it held up, or sends the button's event to the coordinator
    /// that showed the alert.
    private mutating func press(_ button: AlertButton) throws(NavigationError) {
        guard let alert = state.alert else { return }
        state.alert = alert.next
        if button.leaves {
            if let heldUp = alert.heldUp { return try goOn(with: heldUp, alert.question) }
            state.agreement = alert.askedFor.map { Agreement(event: $0, question: alert.question) }
        }
        guard let event = button.event, let shape = state[alert.coordinator]?.type.event(event.name) else { return }
        agenda.append(.call(.handle(shape, event: try shape.decodable(event.payload)), alert.coordinator))
    }

    /// Begins the event that an alert has held up, as if no other alert had come behind the question; these are shown next.
    /// Does nothing if the event is not possible any longer, because something else has happened meanwhile.
    private mutating func goOn(with heldUp: PostedEvent, _ question: Question?) throws(NavigationError) {
        var run = self
        run.agree(to: question)
        run.resumed = heldUp
        let isAnswer = heldUp.type == BuiltInEvent.answer.rawValue
        // A link waits for all alerts. What answers an alert needs it.
        let waiting = isAnswer || heldUp.type == BuiltInEvent.open.rawValue ? [] : state.alerts
        if !waiting.isEmpty { run.state.alert = nil }
        do {
            try run.begin(heldUp)
        } catch {
            guard error.isOfEvent else { throw error }
            return
        }
        if !waiting.isEmpty {
            run.state.alerts = waiting
            run.adoptAlerts()
        }
        self = run
    }

    /// Opens a link, or keeps it while an alert is shown.
    private mutating func open(_ payload: JSON?) throws(NavigationError) {
        let link = try link(in: payload)
        let isPosted = event?.type == BuiltInEvent.open.rawValue
        let waits = state.pendingLink?.waitsForAnswer == true
        guard state.alert == nil else {
            // One that waits already has come later than one that an alert has held up.
            if isPosted || !waits { state.pendingLink = PendingLink(path: link.text, coordinator: nil) }
            return
        }
        if isPosted {
            // If the event is held up, its payload is kept: not whatever the client sent, but the link's own path.
            event?.payload = ["path": .string(link.text)]
            if waits { state.pendingLink = nil }
        }
        try open(link)
    }

    private func link(in payload: JSON?) throws(NavigationError) -> Link {
        guard case ("path", .string(let path))? = onlyMember(of: payload) else {
            throw .invalidPayload("must have “path”, a string, and nothing else")
        }
        return try app.link(path)
    }

    private mutating func relaunch() throws(NavigationError) {
        // What is shared may decide whether somebody objects.
        drop(Set(state.coordinators.map(\.id)), for: .relaunched)
        // One that waits for an answer has come later than what is answered, or agreed to.
        if state.pendingLink?.waitsForAnswer == false { state.pendingLink = nil }
        state.shared = state.shared.surviving
        try startRoot()
    }

    private func onlyMember(of payload: JSON?) -> (name: String, value: JSON)? {
        guard let object = payload?.object, object.count == 1 else { return nil }
        return object.members.first.map { ($0.name, $0.value) }
    }

    private func requireNoPayload(_ payload: JSON?, of event: BuiltInEvent) throws(NavigationError) {
        guard payload == nil || payload == [:] else {
            throw .invalidPayload("must be left out, because “\(event.rawValue)” takes no payload")
        }
    }
}

extension NavigationError {
    /// Whether the event itself is not possible now.
    fileprivate var isOfEvent: Bool {
        switch self {
        case .eventNotAccepted, .payloadNotOffered, .notForRole, .unknownEvent, .invalidEvent, .nothingToGoBack,
            .staleScreen:
            true
        default: false
        }
    }

    /// A built-in event's payload does not fit.
    fileprivate static func invalidPayload(_ reason: String, at path: [String] = []) -> NavigationError {
        .invalidEvent(.init(path: ["payload"] + path, reason: reason))
    }
}
