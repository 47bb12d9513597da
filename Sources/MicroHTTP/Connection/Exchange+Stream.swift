internal import CMicroHTTPD
internal import Glibc
internal import Synchronization

/// An answer whose body is a stream. libmicrohttpd asks for bytes on the connection's thread; while there are none, the
/// connection is suspended.
extension Exchange {
    struct Sending {
        let stream: any HTTPStream
        /// The part that is being sent, and how much of it libmicrohttpd has.
        var part: [UInt8] = []
        var offset = 0
    }

    /// Bytes that libmicrohttpd reserves for a client that does not know chunks; all others get them through the
    /// connection's own memory.
    private static let oldClientBuffer = 512
    /// Bytes that the system may hold for a client that does not read; it reserves twice as many.
    private static let socketBuffer: CInt = 32 * 1024

    /// - Returns: the answer for libmicrohttpd, owned by the caller.
    func begin(_ stream: any HTTPStream) -> OpaquePointer? {
        var size = Exchange.socketBuffer
        setsockopt(watched.socket, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        sending = Sending(stream: stream)
        progress.withLock { $0.isStreaming = true }
        // The exchange lives until the answer has ended, and ends these references to itself then.
        watched.waking.withLock { $0 = { hasHungUp in hasHungUp ? self.cutStream() : self.wake(isQuiet: true) } }
        stream.begin { self.wake() }
        let response = MHD_create_response_from_callback(
            UInt64.max, Exchange.oldClientBuffer, Exchange.read, Unmanaged.passUnretained(self).toOpaque(), nil)
        // To HEAD, libmicrohttpd sends the last chunk, which the client would read as the next answer.
        if isHead { CMicroHTTPD_close_after(response) }
        return response
    }

    /// Call when the answer has ended.
    func endStream() {
        guard sending != nil else { return }
        watched.waking.withLock { $0 = nil }
        sending = nil
    }

    var isStreaming: Bool { progress.withLock(\.isStreaming) }

    /// Asks the stream for its next part, on the connection's thread.
    private func wake(isQuiet: Bool = false) {
        if progress.withLock({ $0.wakeStream(isQuiet: isQuiet) }) { resume() }
    }

    /// Ends the answer. Another server may continue for its client.
    func cutStream() {
        if progress.withLock({ $0.cutStream() }) { resume() }
    }

    private static let read: MHD_ContentReaderCallback = { context, _, buffer, size in
        guard let context, let buffer else { return Exchange.failure }
        return Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
            .read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
    }

    // MHD_CONTENT_READER_END_OF_STREAM and MHD_CONTENT_READER_END_WITH_ERROR, which are casts in C.
    private static let endOfStream = -1
    private static let failure = -2

    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if let count = copy(into: buffer) { return count }
        guard let connection, let stream = sending?.stream else { return Exchange.failure }
        let (isQuiet, isCut) = progress.withLock { $0.takeWake() }
        switch isCut ? .end : stream.next(isQuiet: isQuiet) {
        case .bytes(let part):
            watched.enter(.sending)
            guard beginSending(part.count) else { return Exchange.failure }
            sending?.part = part
            return copy(into: buffer) ?? Exchange.failure
        case .end:
            // The connection may serve other requests.
            watched.enter(.sending)
            return Exchange.endOfStream
        case .wait:
            guard core.register(self) else { return Exchange.endOfStream }
            watched.enterWaiting(spread: core.watchdog.limits.quiet / 5)
            // Suspends first, then looks, as in `proceed`.
            MHD_suspend_connection(connection)
            if !progress.withLock({ $0.suspendStream() }) { resume() }
            return 0
        }
    }

    /// - Returns: how many bytes of the part under way were copied; `nil` if there is none.
    private func copy(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard let rest = sending?.part[sending!.offset...], !rest.isEmpty else { return nil }
        let count = min(rest.count, buffer.count)
        rest.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
        sending?.offset += count
        if count == rest.count {
            sending?.part = []
            sending?.offset = 0
            endSending()
        }
        return count
    }
}

extension Exchange.Progress {
    /// - Returns: whether the caller must resume the connection now.
    mutating func wakeStream(isQuiet: Bool) -> Bool {
        isWoken = true
        if isQuiet { self.isQuiet = true }
        return wake() == .suspended
    }

    /// - Returns: whether the caller must resume the connection now.
    mutating func cutStream() -> Bool {
        guard isStreaming else { return false }
        isCut = true
        return wakeStream(isQuiet: false)
    }

    mutating func takeWake() -> (isQuiet: Bool, isCut: Bool) {
        defer { (isWoken, isQuiet) = (false, false) }
        return (isQuiet, isCut)
    }

    /// - Returns: `false` if there may be something to send.
    mutating func suspendStream() -> Bool {
        guard !isWoken else { return false }
        place = .suspended
        return true
    }
}
