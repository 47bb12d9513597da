internal import Coordinators
internal import JSONCoding

/// The events that every session accepts.
extension CoordinatorTester {
    public mutating func back(fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send("back", fileID: fileID, line: line)
    }

    /// Goes back to the topmost screen of that name.
    public mutating func backTo(
        _ name: String, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        try await send("backTo", ["name": .string(name)], fileID: fileID, line: line)
    }

    public mutating func backToRoot(fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send("backToRoot", fileID: fileID, line: line)
    }

    /// Dismisses the top presented flow.
    public mutating func dismiss(fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send("dismiss", fileID: fileID, line: line)
    }

    /// Presses the alert's button of that id.
    public mutating func answer(
        _ button: String, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        let shown = state.alert.map { JSON.string($0.key) }
        let payload: JSON = shown.map { ["button": .string(button), "alert": $0] } ?? ["button": .string(button)]
        try await send("answer", payload, fileID: fileID, line: line)
    }

    public mutating func selectTab(
        _ id: String, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        try await send("selectTab", ["tab": .string(id)], fileID: fileID, line: line)
    }

    /// Opens a link.
    public mutating func open(_ path: String, fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send("open", ["path": .string(path)], fileID: fileID, line: line)
    }

    public mutating func relaunch(fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send("relaunch", fileID: fileID, line: line)
    }
}
