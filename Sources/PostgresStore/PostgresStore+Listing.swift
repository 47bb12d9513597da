internal import Postgres
public import Sessions

// What operators read: any session, while servers run.
extension PostgresStore {
    /// Known sessions in the order of their ids, including ended, expired and damaged ones.
    ///
    /// - Parameter last: the last one of the list before; `nil` to begin.
    public func sessions(after last: SessionID?, limit: Int) async throws(StoreError) -> [SessionID] {
        try await upkeep.run { link throws(PostgresError) in
            let values: [PostgresValue] = [.text(last?.text ?? ""), .integer(limit)]
            return PastQueries.ids(try link.run(PostgresStore.listing, values, within: .seconds(5)))
        }
    }

    /// Every answer that is kept, oldest first.
    public func answers(of id: SessionID) async throws(StoreError) -> [StoredAnswer] {
        let rows: [(key: String, text: [UInt8], isSound: Bool)] = try await upkeep.run { link throws(PostgresError) in
            let rows = try link.run(PostgresStore.answers, [.text(id.text)], within: .seconds(5))
            return rows.indices.compactMap { row in
                guard let key = rows.text(row, 0), let text = rows.utf8(row, 1) else { return nil }
                return (key, text, rows.integer(row, 2) == EncodedAnswer.checksum(id.text, key, text))
            }
        }
        return try rows.map { key, text, isSound throws(StoreError) in
            guard isSound, let answer = try? StoredAnswer(parsing: text), answer.session == id, answer.key == key else {
                throw .damaged(reason: "an answer of \(id.text) is damaged")
            }
            return answer
        }
    }

    private static let listing = PostgresStatement(
        "list", "SELECT id FROM sessions WHERE id > $1 ORDER BY id LIMIT $2")

    private static let answers = PostgresStatement(
        "answers", "SELECT key, answer, checksum FROM answers WHERE session = $1 ORDER BY stamp")
}
