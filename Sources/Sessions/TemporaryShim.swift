extension MemoryStore {
    public func load(_ id: SessionID) -> LoadedSession? { load(id, token: nil) }
    public func history(of id: SessionID, from version: Int?, limit: Int) -> [SessionRecord] { history(of: id, from: version, limit: limit, bytes: .max) }
}
