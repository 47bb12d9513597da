internal import CMicroHTTPD
internal import Synchronization

/// A request while it is arriving, and its response until it is sent.
///
/// libmicrohttpd calls several times for one request; this object lives from the first of these calls until
/// `MHD_OPTION_NOTIFY_COMPLETED`, which releases it on the connection's thread, whether the answer was sent, the client
/// went away or the server stopped. Between two calls the connection belongs to libmicrohttpd alone, except while it is
/// suspended: then it stays as it is until `complete` resumes it, from whatever thread.
///
/// Unchecked, because nearly all of it is touched on the connection's thread only. The exceptions: `connection` and
/// `task` are set before the exchange is registered as suspended, under the registry's lock, and not changed after;
/// `response` is written once, by whoever settles the exchange, before `progress` becomes `done`, and read after.
final class Exchange: @unchecked Sendable {
    private enum Progress: UInt8, AtomicRepresentable {
        case arriving
        /// The handler runs, on this thread or another; libmicrohttpd waits for neither.
        case running
        /// The handler runs and the connection is suspended.
        case suspended
        case done
    }

    private let core: Core
    private let target: String
    private var connection: OpaquePointer?
    private var isNew = true
    private var headers = HTTPHeaders(capacity: 12)
    private var body: [UInt8] = []
    private var refusal: HTTPRefusal?
    private let progress = Atomic(Progress.arriving)
    private let isSettled = Atomic(false)
    private var response: HTTPResponse?
    private var task: Task<Void, Never>?

    private init(core: Core, target: String) {
        self.core = core
        self.target = target
        core.requestsUnderWay.add(1, ordering: .relaxed)
    }

    deinit {
        core.requestsUnderWay.subtract(1, ordering: .relaxed)
    }
}

// libmicrohttpd's callbacks, on the connection's thread. `context` is the `Core`, borrowed; `slot` holds the exchange,
// retained from `begin` to `end`.
extension Exchange {
    /// The request line is there: the target, before libmicrohttpd decodes it in place.
    static let begin:
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?) -> UnsafeMutableRawPointer? = {
            context, target, _ in
            guard let context else { return nil }
            let core = Unmanaged<Core>.fromOpaque(context).takeUnretainedValue()
            let exchange = Exchange(core: core, target: target.map { String(cString: $0) } ?? "")
            return Unmanaged.passRetained(exchange).toOpaque()
        }

    static let handle: MHD_AccessHandlerCallback = { _, connection, _, method, _, bytes, count, slot in
        guard let connection, let method, let count, let pointer = slot?.pointee else { return .NO }
        let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
        if exchange.isNew { return exchange.takeHead(connection) }
        guard count.pointee > 0 else { return exchange.answer(connection, method: method) }
        exchange.take(UnsafeRawBufferPointer(start: bytes, count: count.pointee))
        count.pointee = 0
        return .YES
    }

    static let end: MHD_RequestCompletedCallback = { _, _, slot, _ in
        guard let pointer = slot?.pointee else { return }
        slot?.pointee = nil
        Unmanaged<Exchange>.fromOpaque(pointer).release()
    }
}

// Arriving.
extension Exchange {
    /// Bodies up to this many times the limit are read and thrown away, so that the client gets its answer and keeps its
    /// connection; larger ones are cut off.
    private static let patience = 16

    /// A response that is queued now, before the body, closes the connection: only for what cannot be read further.
    private func takeHead(_ connection: OpaquePointer) -> MHD_Result {
        isNew = false
        self.connection = connection
        MHD_get_connection_values_n(
            connection, .HEADER_KIND,
            { exchange, _, name, nameSize, value, valueSize in
                guard let exchange else { return .NO }
                let name = String(decoding: UnsafeRawBufferPointer(start: name, count: nameSize), as: UTF8.self)
                let value = String(decoding: UnsafeRawBufferPointer(start: value, count: valueSize), as: UTF8.self)
                Unmanaged<Exchange>.fromOpaque(exchange).takeUnretainedValue().headers.append(name, value)
                return .YES
            }, Unmanaged.passUnretained(self).toOpaque())

        let length = headers["Content-Length"].map { UInt64($0) ?? .max } ?? 0
        if headers["Transfer-Encoding"] != nil {
            return queue(core.handler.response(for: .lengthRequired), on: connection)
        }
        let expectation = headers["Expect"]?.lowercased()
        if let expectation, expectation != "100-continue" {
            return queue(core.handler.response(for: .expectationFailed), on: connection)
        }
        guard length > UInt64(core.bodyLimit) else { return .YES }
        refusal = .contentTooLarge(limit: core.bodyLimit)
        guard expectation == nil, length <= UInt64(core.bodyLimit * Exchange.patience) else {
            return queue(core.handler.response(for: .contentTooLarge(limit: core.bodyLimit)), on: connection)
        }
        return .YES
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        guard refusal == nil else { return }
        guard body.count + bytes.count <= core.bodyLimit else {
            refusal = .contentTooLarge(limit: core.bodyLimit)
            return body = []
        }
        body.append(contentsOf: bytes)
    }
}

// Answering.
extension Exchange {
    /// The request is whole, or its handler is done.
    private func answer(_ connection: OpaquePointer, method: UnsafePointer<CChar>) -> MHD_Result {
        if progress.load(ordering: .acquiring) == .arriving {
            progress.store(.running, ordering: .releasing)
            run(method: String(cString: method))
        }
        if progress.load(ordering: .acquiring) != .done {
            if core.register(self) {
                suspend(connection)
                return .YES
            }
            complete(with: .stopping)
            // The handler may just be ahead, between its two steps.
            while progress.load(ordering: .acquiring) != .done {}
        }
        guard let response else { return .NO }
        return queue(response, on: connection)
    }

    private func run(method: String) {
        guard let target = HTTPTarget(target) else { return complete(with: .invalidTarget) }
        if let refusal { return complete(with: refusal) }
        let request = HTTPRequest(method: method, target: target, headers: headers, body: body)
        task = Task.immediate { [core] in
            self.complete(with: await core.handler.respond(to: request))
        }
    }

    /// Suspends first and looks then: where the handler has ended in between, the connection is resumed here.
    private func suspend(_ connection: OpaquePointer) {
        MHD_suspend_connection(connection)
        let (isSuspended, _) = progress.compareExchange(
            expected: .running, desired: .suspended, ordering: .acquiringAndReleasing)
        if !isSuspended { resume() }
    }

    /// The first response counts; a handler that ends after the server has given it up is too late.
    private func complete(with response: HTTPResponse) {
        guard !isSettled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        self.response = response
        if progress.exchange(.done, ordering: .acquiringAndReleasing) == .suspended { resume() }
    }

    private func complete(with refusal: HTTPRefusal) {
        complete(with: core.handler.response(for: refusal))
    }

    private func resume() {
        if let connection { MHD_resume_connection(connection) }
        core.unregister(self)
    }

    func abandon() {
        complete(with: .stopping)
        task?.cancel()
    }

    private func queue(_ response: HTTPResponse, on connection: OpaquePointer) -> MHD_Result {
        var body = response.body
        // MHD_RESPMEM_MUST_COPY: the bytes are read during the call only.
        let queued = body.withUnsafeMutableBytes {
            MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
        }
        guard let queued else { return .NO }
        defer { MHD_destroy_response(queued) }
        for (name, value) in response.headers { MHD_add_response_header(queued, name, value) }
        if core.isDraining.load(ordering: .relaxed) { MHD_add_response_header(queued, "Connection", "close") }
        return MHD_queue_response(connection, CUnsignedInt(response.status), queued)
    }
}
