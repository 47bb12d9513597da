internal import Dispatch
internal import Sessions
internal import Synchronization

/// Where reads wait for the one connection that reads, and for the disk.
final class ReadQueue: Sendable {
    private let queue = DispatchQueue(label: "coordinatord.store.reader", qos: .userInitiated)
    /// Only touched on `queue`; `nil` once it is closed.
    private let archive: Mutex<Archive?>

    init(_ archive: sending Archive) {
        self.archive = Mutex(archive)
    }

    func close() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.archive.withLock { $0 = nil }
                continuation.resume()
            }
        }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Archive) throws(ReadError) -> Value
    ) async throws(StoreError) -> Value {
        let outcome: Result<Value, ReadError>? = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: self.archive.withLock { archive in
                        guard let archive else { return nil }
                        return Result { () throws(ReadError) in try body(archive) }
                    })
            }
        }
        switch outcome {
        case nil: throw .unavailable(reason: "the store is closed")
        case .success(let value)?: return value
        case .failure(let error)?: throw .unavailable(reason: error.reason)
        }
    }
}

extension ReadError {
    var reason: String {
        switch self {
        case .sqlite(let error): "\(error)"
        case .damaged(let seq): "row \(seq) of the journal is damaged"
        }
    }
}
