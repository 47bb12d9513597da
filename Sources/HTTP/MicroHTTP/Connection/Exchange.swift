internal import CMicroHTTPD
internal import Glibc
internal import Synchronization

/// A request while it is arriving, and its response until it is sent.
///
/// libmicrohttpd calls several times for one request; this object lives from the first of these calls until
/// `MHD_OPTION_NOTIFY_COMPLETED`, which releases it on the connection's thread, whether the answer was sent, the client
/// went away or the server stopped. Between two calls the connection belongs to libmicrohttpd alone, except while it is
/// suspended: then libmicrohttpd does nothing with it until some thread resumes it.
///
/// The handler's task runs on the connection's thread (`Exchange+TaskExecutor.swift`).
///
/// Unchecked, because nearly all of it is touched on the connection's thread only. The exceptions: `progress` has a
/// lock; what `abandon` reads is set before the exchange is registered as suspended, under the registry's lock, and
/// never changed afterwards.
final class Exchange: @unchecked Sendable {
    let core: Core
    let watched: WatchedConnection
    /// `nil` if it is refused.
    private let target: HTTPTarget?
    /// The raw target's place in the head. The bytes are decoded in place soon after `begin`.
    private let targetPlace: UnsafeRawBufferPointer
    /// Whether the raw target had only characters that are allowed in a head.
    private let isTargetReadable: Bool
    private(set) var connection: OpaquePointer?
    private var isNew = true
    private var headers: HTTPHeaders = [:]
    /// `nil` until the head has arrived.
    private(set) var id: RequestID?
    private var body: [UInt8] = []
    /// What `Content-Length` says; 0 without one.
    private var announced = 0
    /// The bytes of the body that the receiving budget counts, and the address for which it counts them.
    private var received: (bytes: Int, address: IPAddress)?
    private var refusal: HTTPRefusal?
    private var hasBegun = false
    /// Whether the method is HEAD, and whether the version is older than HTTP/1.1. The answer of a stream depends on
    /// both.
    private(set) var (isHead, isOld) = (false, false)
    let progress = Mutex(Progress())
    /// The answer's number in the sending budget, if it is large.
    private var sendingNumber: Int?

    private init(core: Core, on watched: WatchedConnection, target: UnsafeRawBufferPointer) {
        self.core = core
        self.watched = watched
        self.target = HTTPTarget(target.assumingMemoryBound(to: UInt8.self))?.without(prefix: core.settings.basePath)
        self.targetPlace = target
        self.isTargetReadable = target.allSatisfy(HeadCheck.isTargetCharacter)
        core.requestsUnderWay.add(1, ordering: .relaxed)
    }

    deinit {
        core.requestsUnderWay.subtract(1, ordering: .relaxed)
    }
}

// libmicrohttpd's callbacks, on the connection's thread. `context` is the `Core`, borrowed; `slot` holds the exchange,
// retained from `begin` to `end`.
extension Exchange {
    /// The request line has arrived; `target` is the raw target, before libmicrohttpd decodes it in place.
    static let begin:
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
            context, target, connection in
            guard let context, let connection, let place = CMicroHTTPD_socket_context(connection) else { return nil }
            let core = Unmanaged<Core>.fromOpaque(context).takeUnretainedValue()
            let watched = Unmanaged<WatchedConnection>.fromOpaque(place).takeUnretainedValue()
            watched.enterHead(since: Watchdog.now)
            let bytes = UnsafeRawBufferPointer(start: target, count: target.map { strlen($0) } ?? 0)
            let exchange = Exchange(core: core, on: watched, target: bytes)
            return Unmanaged.passRetained(exchange).toOpaque()
        }

    static let handle: MHD_AccessHandlerCallback = { _, connection, _, method, version, bytes, count, slot in
        guard let connection, let method, let version, let count, let pointer = slot?.pointee else { return .NO }
        let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
        if exchange.isNew { return exchange.receiveHead(connection, method, version) }
        guard count.pointee > 0 else { return exchange.proceed(connection, method: method) }
        exchange.receiveBody(UnsafeRawBufferPointer(start: bytes, count: count.pointee))
        count.pointee = 0
        return .YES
    }

    static let end: MHD_RequestCompletedCallback = { _, _, slot, _ in
        guard let pointer = slot?.pointee else { return }
        slot?.pointee = nil
        let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeRetainedValue()
        // Before the socket is closed, because its number may soon be another connection's.
        if let number = exchange.sendingNumber { exchange.core.sendingBudget.end(number) }
        exchange.releaseBody()
        exchange.leaveThread()
        exchange.watched.enterIdle()
    }
}

// Receiving the request.
extension Exchange {
    /// Bodies up to this many times the limit are read and discarded, so that the client gets its answer and keeps its
    /// connection; larger ones are cut off.
    private static let discardFactor = 16

    /// Checks the head. A response that is queued before the body has arrived closes the connection, so that is done
    /// only for requests that cannot be read further.
    private func receiveHead(
        _ connection: OpaquePointer, _ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>
    ) -> MHD_Result {
        isNew = false
        self.connection = connection
        isHead = strcmp(method, "HEAD") == 0
        isOld = strcmp(version, "HTTP/1.1") != 0
        watched.enter(.body)
        let size = CMicroHTTPD_head_size(connection)
        var check = HeadCheck(method: method, target: targetPlace, version: version)
        // Names and values are parts of the head, so its size bounds theirs.
        let count = Int(MHD_get_connection_values(connection, .HEADER_KIND, nil, nil))
        headers = HTTPHeaders(capacity: size + count * HTTPHeaders.overhead) { writer in
            var arrival = Arrival(check: check, writer: writer)
            _ = MHD_get_connection_values_n(connection, .HEADER_KIND, Arrival.receiveField, &arrival)
            (check, writer) = (arrival.check, arrival.writer)
        }
        let refusal = check.refusal(size: size) ?? (isTargetReadable ? nil : .malformedHead)
        if let refusal {
            headers = [:]
            id = RequestID()
            return queue(refusal, on: connection)
        }
        id = headers["X-Request-Id"].flatMap { RequestID($0) } ?? RequestID()
        guard headCost(connection, size: size, fields: count) <= core.settings.headLimit else {
            return queue(.headTooLarge(limit: core.settings.headLimit), on: connection)
        }
        return checkFraming(connection)
    }

    /// Bytes of a connection's memory that the head uses, including what libmicrohttpd stores for each part of it.
    private func headCost(_ connection: OpaquePointer, size: Int, fields: Int) -> Int {
        let overhead = 64
        let parameters = MHD_get_connection_values(connection, .GET_ARGUMENT_KIND, nil, nil)
        let cost = size + (fields + Int(parameters)) * overhead
        guard let cookie = headers["Cookie"] else { return cost }
        // libmicrohttpd splits cookies in a copy.
        return cost + cookie.utf8.count + Int(MHD_get_connection_values(connection, .COOKIE_KIND, nil, nil)) * overhead
    }

    /// The state of libmicrohttpd's callback for each header field.
    private struct Arrival {
        var check: HeadCheck
        var writer: HTTPHeaders.FieldWriter

        static let receiveField: MHD_KeyValueIteratorN = { arrival, _, name, nameSize, value, valueSize in
            let field = HTTPHeaders.Field(
                name: UnsafeRawBufferPointer(start: name, count: nameSize),
                value: UnsafeRawBufferPointer(start: value, count: valueSize))
            arrival?.withMemoryRebound(to: Arrival.self, capacity: 1) { arrival in
                arrival.pointee.check.add(field)
                arrival.pointee.writer.append(field.trimmed)
            }
            return .YES
        }
    }

    private func checkFraming(_ connection: OpaquePointer) -> MHD_Result {
        let limit = core.settings.bodyLimit
        let length = headers["Content-Length"].map { UInt64($0) ?? .max } ?? 0
        let expectation = headers["Expect"]?.lowercased()
        if let expectation, expectation != "100-continue" {
            return queue(.expectationFailed, on: connection)
        }
        guard length > UInt64(limit) else {
            announced = Int(length)
            guard announced > ReceivingBudget.smallSize,
                !core.receivingBudget.hasRoom(for: ReceivingBudget.smallSize, from: address, hasRight: hasRight)
            else { return .YES }
            refusal = .tooManyBytes
            return expectation == nil ? .YES : queue(.tooManyBytes, on: connection)
        }
        refusal = .contentTooLarge(limit: limit)
        guard expectation == nil, length <= UInt64(limit * Exchange.discardFactor) else {
            return queue(.contentTooLarge(limit: limit), on: connection)
        }
        return .YES
    }

    private func receiveBody(_ bytes: UnsafeRawBufferPointer) {
        guard refusal == nil else { return }
        let (count, limit) = (body.count + bytes.count, core.settings.bodyLimit)
        guard count <= limit else { return refuseBody(.contentTooLarge(limit: limit)) }
        // The body's memory grows by doubling, but not beyond the announced size.
        if !body.isEmpty, count > body.capacity {
            body.reserveCapacity(max(count, min(announced, 2 * body.count)))
        }
        if body.isEmpty { body = [UInt8](bytes) } else { body += bytes }
        if body.count > ReceivingBudget.smallSize, !countReceived(min(body.capacity, max(count, announced))) {
            refuseBody(.tooManyBytes)
        }
    }

    /// Refuses the request and frees its body, of which the rest is discarded.
    private func refuseBody(_ refusal: HTTPRefusal) {
        self.refusal = refusal
        body = []
        releaseBody()
    }

    /// Counts the body in the receiving budget.
    ///
    /// - Parameter bytes: its size now.
    /// - Returns: `false` if there is no room for the bytes that are new.
    private func countReceived(_ bytes: Int) -> Bool {
        let (before, address) = received ?? (0, address)
        guard bytes > before else { return true }
        guard core.receivingBudget.take(bytes - before, from: address, hasRight: hasRight) else { return false }
        received = (bytes, address)
        return true
    }

    /// The address for which the receiving budget counts the body.
    private var address: IPAddress { headers.client(of: watched.peer, behind: core.settings.proxies).subscriber }

    private func hasRight() -> Bool { target.map { core.handler.hasRight($0, headers) } ?? false }

    /// Gives the body's bytes back to the receiving budget.
    private func releaseBody() {
        if let received { core.receivingBudget.give(back: received.bytes, of: received.address) }
        received = nil
    }
}

// Sending the answer.
extension Exchange {
    /// Runs the handler's task until it ends or waits, then sends its answer or suspends the connection. Called when
    /// the request is complete, and after each time that the connection was resumed.
    private func proceed(_ connection: OpaquePointer, method: UnsafePointer<CChar>) -> MHD_Result {
        if !hasBegun {
            hasBegun = true
            watched.enter(.handling)
            startHandler(method: String(cString: method))
        }
        while true {
            switch progress.withLock({ $0.next() }) {
            case .run(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .answer(let response): return queue(response, on: connection)
            case .close: return .NO
            case .wait:
                guard core.register(self) else {
                    complete(with: .stopping)
                    continue
                }
                // Suspends first, then looks for work: work that arrives before could not resume the connection.
                MHD_suspend_connection(connection)
                if !progress.withLock({ $0.suspend() }) { resume() }
                return .YES
            }
        }
    }

    private func startHandler(method: String) {
        guard let target, !target.isServerWide || method == "OPTIONS" else { return complete(with: .invalidTarget) }
        if let refusal { return complete(with: refusal) }
        let request = HTTPRequest(
            id: id ?? RequestID(), method: method, target: target, headers: headers, body: body, peer: watched.peer,
            connection: watched)
        Task.immediate(executorPreference: self) {
            let response = await core.handler.respond(to: request)
            complete(with: response)
        }
    }

    /// Only the first response is sent: that of a handler which the server has abandoned comes too late.
    private func complete(with response: @autoclosure () -> HTTPResponse) {
        guard progress.withLock({ $0.settle() }) else { return }
        let response = response()
        if progress.withLock({ $0.setResponse(response) }) { resume() }
    }

    private func complete(with refusal: HTTPRefusal) {
        complete(with: response(for: refusal))
    }

    /// Call only for a response that will be sent: the handler counts refusals.
    private func response(for refusal: HTTPRefusal) -> HTTPResponse {
        var response = core.handler.response(for: refusal, to: refused)
        if refusal == .tooManyBytes { response.headers.append("Connection", "close") }
        return response
    }

    /// Answers 503, unless there is an answer already.
    func abandon() {
        complete(with: .stopping)
    }

    private var refused: RefusedRequest {
        RefusedRequest(id: id ?? RequestID(), target: target, headers: headers)
    }

    private func queue(_ refusal: HTTPRefusal, on connection: OpaquePointer) -> MHD_Result {
        queue(core.handler.response(for: refusal, to: refused), on: connection)
    }

    private func queue(_ response: HTTPResponse, on connection: OpaquePointer) -> MHD_Result {
        watched.enter(.sending)
        let created: OpaquePointer?
        switch response.body {
        case .stream(let stream): return handOver(response, stream, from: connection)
        case .constant(let bytes): created = create(UnsafeRawBufferPointer(bytes.buffer), .RESPMEM_PERSISTENT)
        case .bytes(let bytes):
            if bytes.count > SendingBudget.smallSize {
                guard let number = core.sendingBudget.begin(bytes.count, on: watched) else { return .NO }
                sendingNumber = number
            }
            created = bytes.withUnsafeBytes { create($0, .RESPMEM_MUST_COPY) }
        }
        guard let queued = created else { return .NO }
        defer { MHD_destroy_response(queued) }
        response.headers.withFields { fields in
            while let field = fields.next() {
                MHD_add_response_header(queued, field.name.cString, field.value.cString)
            }
        }
        _ = (id ?? RequestID()).withCString { MHD_add_response_header(queued, "X-Request-Id", $0) }
        if core.isDraining.load(ordering: .relaxed) { MHD_add_response_header(queued, "Connection", "close") }
        guard response.status == 304 else {
            return MHD_queue_response(connection, CUnsignedInt(response.status), queued)
        }
        return beginNotModified() ? MHD_queue_response(connection, 204, queued) : .NO
    }

    /// libmicrohttpd only reads the bytes: during this call if `mode` tells it to copy them, otherwise until the answer
    /// is sent.
    private func create(_ bytes: UnsafeRawBufferPointer, _ mode: MHD_ResponseMemoryMode) -> OpaquePointer? {
        MHD_create_response_from_buffer(bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), mode)
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes as a C string; a NUL must follow them.
    fileprivate var cString: UnsafePointer<CChar>? { baseAddress?.assumingMemoryBound(to: CChar.self) }
}

// A 304 has no body and announces no length (RFC 9110, section 8.6): clients wait for as many bytes as are announced.
// libmicrohttpd gives every 304 a length, and before 1.0 closes the connection if it knows none.
extension Exchange {
    /// Sends the beginning of a 304. The rest of it is libmicrohttpd's 204, which has no length either: its status line
    /// becomes the end of the reason phrase, which clients ignore (RFC 9112, section 4).
    ///
    /// Call on the connection's thread, right before the 204 is queued. Earlier answers have been sent by then, so
    /// these are the next bytes; they leave together with the head that follows.
    ///
    /// - Returns: `false` if the system does not accept all of it at once; then nothing further must be sent.
    func beginNotModified() -> Bool {
        let start: StaticString = "HTTP/1.1 304 Not Modified, "
        let flags = CInt(MSG_MORE) | CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        return send(watched.socket, start.utf8Start, start.utf8CodeUnitCount, flags) == start.utf8CodeUnitCount
    }
}
