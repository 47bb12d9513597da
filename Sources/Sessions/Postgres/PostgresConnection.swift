internal import ByteText
internal import CPostgres
internal import Glibc

/// A statement that a connection prepares when it first runs it.
public struct PostgresStatement: Sendable {
    /// Unique among the statements of a connection.
    let name: String
    let sql: String

    /// - Parameter sql: one command, with `$1`, `$2`, … for the parameters. It is the program's own text.
    public init(_ name: String, _ sql: String) {
        self.name = name
        self.sql = sql
    }

    /// Is refused like the statement, for want of a table, a column or a right, and otherwise has its plan as rows.
    /// Nothing is changed.
    public var explanation: PostgresStatement { PostgresStatement("explain-\(name)", "EXPLAIN \(sql)") }
}

/// One connection to a database: open from `init` to `deinit`.
///
/// It has one owner and is not `Sendable`; its calls block the thread until the deadline at most.
public final class PostgresConnection {
    /// Owned: finished in `deinit`.
    private let pointer: OpaquePointer
    /// What the server has reported beside its results.
    private struct Notices {
        var warnings = 0
        /// Whether it has said that it ends the connection.
        var isEnding = false
    }

    /// Owned: libpq writes here, on the thread that makes the call. Freed after the connection.
    private let notices: UnsafeMutablePointer<Notices>
    private var prepared: Set<String> = []
    /// Which of the settings' hosts it is connected to.
    public let host: Int
    /// Whether a statement can be tried. Once `false`, it stays so.
    public private(set) var isUsable = true

    /// Connects to the first host that accepts it, and that is accepted, each within its share of the time.
    ///
    /// - Parameters:
    ///   - first: the index of the host to try first.
    ///   - time: how long connecting may take, with all hosts together.
    ///   - check: throws if the host must not be used.
    /// - Throws: `notSent`, with each host's reason.
    public static func connect(
        _ settings: PostgresSettings, first: Int = 0, within time: Duration,
        check: (PostgresConnection) throws(PostgresError) -> Void = { _ throws(PostgresError) in }
    ) throws(PostgresError) -> PostgresConnection {
        let count = settings.hosts.count
        let end = ContinuousClock.now + time
        var reasons: [String] = []
        for turn in 0..<count {
            let host = (max(0, first) + turn) % count
            let now = ContinuousClock.now
            let limit = now + max(.zero, end - now) / (count - turn)
            do throws(PostgresError) {
                let connection = try PostgresConnection(settings, host: host, until: limit)
                try check(connection)
                return connection
            } catch {
                reasons.append(error.description)
            }
        }
        throw .notSent(reason: reasons.isEmpty ? "there is no host" : reasons.joined(separator: "; "))
    }

    private init(_ settings: PostgresSettings, host: Int, until deadline: ContinuousClock.Instant) throws(PostgresError)
    {
        guard let pointer = PostgresConnection.start(settings.options(host: host)) else {
            throw .notSent(reason: "there is no memory")
        }
        self.pointer = pointer
        self.host = host
        notices = .allocate(capacity: 1)
        notices.initialize(to: Notices())
        PQsetNoticeReceiver(
            pointer,
            { context, notice in
                func field(_ code: UInt8) -> String? {
                    PQresultErrorField(notice, CInt(code)).map { String(cString: $0) }
                }
                guard let notices = context?.assumingMemoryBound(to: Notices.self) else { return }
                if field(UInt8(ascii: "V")) == "WARNING" { notices.pointee.warnings += 1 }
                // Shutting down, crashed.
                if field(UInt8(ascii: "C"))?.begins(with: "57P") == true { notices.pointee.isEnding = true }
            }, notices)
        // From here on `deinit` frees both, also if this throws.
        try establish(until: deadline)
        PQsetnonblocking(pointer, 1)
    }

    deinit {
        PQfinish(pointer)
        notices.deallocate()
    }

    private static func start(_ options: [String: String]) -> OpaquePointer? {
        // libpq copies the texts before the call returns.
        let copies = options.flatMap { [strdup($0.key), strdup($0.value)] }
        defer { for copy in copies { free(copy) } }
        var keywords = stride(from: 0, to: copies.count, by: 2).map { UnsafePointer(copies[$0]) }
        var values = stride(from: 1, to: copies.count, by: 2).map { UnsafePointer(copies[$0]) }
        keywords.append(nil)
        values.append(nil)
        return PQconnectStartParams(keywords, values, 0)
    }

    private func establish(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        var status = PQstatus(pointer) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING
        while status != PGRES_POLLING_OK {
            let events: CInt
            switch status {
            case PGRES_POLLING_READING: events = POLLIN
            case PGRES_POLLING_WRITING: events = POLLOUT
            default: throw .notSent(reason: message)
            }
            guard wait(for: events, until: deadline) != 0 else {
                throw .notSent(reason: "the database server did not accept a connection in time")
            }
            status = PQconnectPoll(pointer)
        }
    }

    /// Runs a statement.
    ///
    /// - Returns: its rows, once the server has committed it.
    public func run(
        _ statement: PostgresStatement, _ values: [PostgresValue] = [], until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> PostgresRows {
        try checkUsable()
        if !prepared.contains(statement.name) { try prepare(statement, values.map(\.type), until: deadline) }
        let encoded = EncodedValues(values)
        let isSent = encoded.bytes.withUnsafeBytes { buffer in
            // libpq copies the values before the call returns. An empty value needs an address, too, or it is NULL.
            let pointers = encoded.places.map { place in
                place.map { place in
                    (buffer.baseAddress.map { $0 + place.start } ?? PostgresConnection.emptyValueAddress)
                        .assumingMemoryBound(to: CChar.self) as UnsafePointer<CChar>?
                } ?? nil
            }
            let lengths = encoded.places.map { CInt(truncatingIfNeeded: $0?.length ?? 0) }
            let formats = [CInt](repeating: 1, count: pointers.count)
            return PQsendQueryPrepared(
                pointer, statement.name, CInt(truncatingIfNeeded: pointers.count), pointers, lengths, formats, 1) == 1
        }
        return try finish(isSent: isSent, until: deadline)
    }

    /// Runs one or more commands without parameters, in one transaction unless they say otherwise. All of the text must
    /// be the program's own.
    ///
    /// - Returns: the last command's rows, which are texts that cannot be read as anything else.
    @discardableResult
    public func execute(_ sql: String, until deadline: ContinuousClock.Instant) throws(PostgresError) -> PostgresRows {
        try checkUsable()
        return try finish(isSent: PQsendQuery(pointer, sql) == 1, until: deadline)
    }

    private func prepare(
        _ statement: PostgresStatement, _ types: [UInt32], until deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
        let count = CInt(truncatingIfNeeded: types.count)
        do throws(PostgresError) {
            let isSent = PQsendPrepare(pointer, statement.name, statement.sql, count, types) == 1
            _ = try finish(isSent: isSent, until: deadline)
        } catch {
            // Preparing changes nothing.
            if case .refused = error { throw error }
            throw .notSent(reason: error.description)
        }
        prepared.insert(statement.name)
    }

    /// Notices a connection that the server has closed meanwhile, before anything is sent on it.
    private func checkUsable() throws(PostgresError) {
        if isUsable, poll(POLLIN, 0) != 0 {
            // What the server reports last comes before the end of the connection.
            isUsable = PQconsumeInput(pointer) == 1 && PQisBusy(pointer) == 0 && !notices.pointee.isEnding
        }
        isUsable = isUsable && PQstatus(pointer) == CONNECTION_OK
        guard isUsable else { throw .notSent(reason: message) }
        notices.pointee.warnings = 0
    }

    /// Sends what is left to send, and receives all results of a call.
    private func finish(isSent: Bool, until deadline: ContinuousClock.Instant) throws(PostgresError) -> PostgresRows {
        // A part may have been sent even if libpq has failed to send it.
        guard isSent else { throw markLost(nil) }
        try flush(until: deadline)
        var last: PostgresRows?
        var refusal: PostgresError?
        while let result = try next(until: deadline) {
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: last = PostgresRows(result)
            default:
                refusal = refusal ?? PostgresConnection.refusal(result)
                PQclear(result)
            }
        }
        // Only when the server is ready again has it committed or rolled back: a result can come before the commit.
        guard PQstatus(pointer) == CONNECTION_OK, PQtransactionStatus(pointer) == PQTRANS_IDLE else {
            throw markLost(refusal)
        }
        if let refusal { throw refusal }
        let rows = last ?? PostgresRows(nil)
        rows.warnings = notices.pointee.warnings
        return rows
    }

    private func flush(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        while true {
            switch PQflush(pointer) {
            case 0: return
            case 1:
                let ready = wait(for: POLLIN | POLLOUT, until: deadline)
                if ready == 0 { throw markLate() }
                if ready & POLLIN != 0, PQconsumeInput(pointer) == 0 { throw markLost(nil) }
            default: throw markLost(nil)
            }
        }
    }

    /// - Returns: `nil` when there are no more results.
    private func next(until deadline: ContinuousClock.Instant) throws(PostgresError) -> OpaquePointer? {
        while PQisBusy(pointer) == 1 {
            guard wait(for: POLLIN, until: deadline) != 0 else { throw markLate() }
            // What has arrived before the end of the connection is read all the same: the server may have said why.
            if PQconsumeInput(pointer) == 0 { break }
        }
        return PQgetResult(pointer)
    }

    private func markLost(_ refusal: PostgresError?) -> PostgresError {
        isUsable = false
        return .lost(reason: refusal?.description ?? message, state: refusal?.state)
    }

    private func markLate() -> PostgresError {
        isUsable = false
        return .deadline
    }

    private static func refusal(_ result: OpaquePointer) -> PostgresError {
        func field(_ code: UInt8) -> String? { PQresultErrorField(result, CInt(code)).map { String(cString: $0) } }
        // libpq's own errors have no code.
        guard let state = field(UInt8(ascii: "C")).map({ SQLState($0) }) else {
            return .lost(reason: "the database connection is lost", state: nil)
        }
        // Messages about data may quote it.
        let message = state.isIn(class: "22") ? "invalid data" : field(UInt8(ascii: "M")) ?? "refused"
        return .refused(state, message: message, constraint: field(UInt8(ascii: "n")))
    }

    /// libpq's text about the connection, in one line. It has no values in it.
    private var message: String {
        let text = PQerrorMessage(pointer).map { String(cString: $0) } ?? ""
        let lines = text.lines.map(\.trimmed)
        return lines.isEmpty ? "the database connection is lost" : lines.joined(separator: " ")
    }

    /// An address for values without bytes.
    nonisolated(unsafe) private static let emptyValueAddress = UnsafeRawPointer(
        UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8))

    /// - Returns: the events that have happened; 0 at the deadline.
    private func wait(for events: CInt, until deadline: ContinuousClock.Instant) -> CInt {
        while true {
            let left = deadline - .now
            guard left > .zero else { return 0 }
            // Rounded up, because polling with 0 would spin until the deadline.
            let milliseconds = CInt(clamping: Int64(left / .milliseconds(1)) + 1)
            let ready = poll(events, milliseconds)
            if ready != 0 { return ready }
        }
    }

    /// - Returns: the events that have happened; an error counts as all of them, so that libpq finds it.
    private func poll(_ events: CInt, _ milliseconds: CInt) -> CInt {
        var entry = pollfd(fd: PQsocket(pointer), events: Int16(truncatingIfNeeded: events), revents: 0)
        // poll ignores a descriptor of -1, and would wait to the end.
        guard entry.fd >= 0, Glibc.poll(&entry, 1, milliseconds) != 0 else { return entry.fd < 0 ? events : 0 }
        let isFailed = CInt(entry.revents) & (POLLERR | POLLHUP | POLLNVAL) != 0
        return isFailed ? events : CInt(entry.revents) & events
    }
}
