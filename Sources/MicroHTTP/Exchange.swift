internal import CMicroHTTPD
internal import Synchronization

/// A request while it is arriving, and its response until it is sent.
///
/// libmicrohttpd calls several times for one request; this object lives from the first of these calls until
/// `MHD_OPTION_NOTIFY_COMPLETED`, which releases it on the connection's thread, whether the answer was sent, the client
/// went away or the server stopped. Between two calls the connection belongs to libmicrohttpd alone, except while it is
/// suspended: then it stays as it is until `complete` resumes it, from whatever thread.
///
/// Unchecked, because `isNew`, `head`, `body` and `refusal` are touched on the connection's thread only, and
/// `connection` is set once; what threads share is in `progress`.
final class Exchange: @unchecked Sendable {
    private enum Progress {
        case arriving
        /// The handler runs, on this thread or another; libmicrohttpd waits for neither.
        case running
        /// The handler runs and the connection is suspended.
        case suspended
        case done(HTTPResponse)
    }

    private let core: Core
    private let target: String
    private var connection: OpaquePointer?
    private var isNew = true
    private var headers = HTTPHeaders()
    private var body: [UInt8] = []
    private var refusal: HTTPRefusal?
    private let progress = Mutex(Progress.arriving)
    private let task = Mutex<Task<Void, Never>?>(nil)

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
        let isFirst = progress.withLock { progress in
            guard case .arriving = progress else { return false }
            progress = .running
            return true
        }
        if isFirst { run(method: String(cString: method)) }
        if response == nil {
            if core.register(self) {
                suspend(connection)
                return .YES
            }
            complete(with: .stopping)
        }
        guard let response else { return .NO }
        return queue(response, on: connection)
    }

    private var response: HTTPResponse? {
        progress.withLock { if case .done(let response) = $0 { response } else { nil } }
    }

    private func run(method: String) {
        guard let target = HTTPTarget(target) else { return complete(with: .invalidTarget) }
        if let refusal { return complete(with: refusal) }
        let request = HTTPRequest(method: method, target: target, headers: headers, body: body)
        let task = Task.immediate { [core] in
            self.complete(with: await core.handler.respond(to: request))
        }
        if response == nil { self.task.withLock { $0 = task } }
    }

    /// Suspends first and looks then: a handler that ends in between finds `running`, and the connection is resumed here.
    private func suspend(_ connection: OpaquePointer) {
        MHD_suspend_connection(connection)
        let isDone = progress.withLock { progress in
            if case .done = progress { return true }
            progress = .suspended
            return false
        }
        if isDone { resume() }
    }

    /// The first response counts; a handler that ends after the server has given it up is too late.
    private func complete(with response: HTTPResponse) {
        let wasSuspended = progress.withLock { progress in
            switch progress {
            case .done: return false
            case .suspended:
                progress = .done(response)
                return true
            case .arriving, .running:
                progress = .done(response)
                return false
            }
        }
        if wasSuspended { resume() }
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
        task.withLock { $0.take() }?.cancel()
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
