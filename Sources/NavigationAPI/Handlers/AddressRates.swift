internal import FoundationEssentials
internal import MicroHTTP
internal import Sessions
internal import Synchronization

/// How often each address may do something.
final class AddressRates: Sendable {
    /// Addresses that are told apart; more share one count. A million of them would fill the memory.
    private static let capacity = 65_536

    private struct Counts {
        var due: [IPAddress: RateLimit.Due] = [:]
        var dueOfOthers = RateLimit.Due()
        var nextCleaning = Date.distantPast

        /// Forgets those that have nothing counted against them any more; once a second, for it takes a while.
        mutating func clean(at now: Date) {
            // Or the clock was put back.
            guard now > nextCleaning || nextCleaning > now + 1 else { return }
            due = due.filter { !$0.value.isOver(at: now) }
            nextCleaning = now + 1
        }
    }

    private let limit: RateLimit
    private let counts = Mutex(Counts())

    init(_ limit: RateLimit) {
        self.limit = limit
    }

    /// Counts once more.
    ///
    /// - Returns: the seconds to wait; `nil` where there is no need to.
    func take(_ address: IPAddress, at now: Date = Date()) -> Int? {
        let address = address.subscriber
        return counts.withLock { counts in
            counts.clean(at: now)
            guard counts.due[address] != nil || counts.due.count < AddressRates.capacity else {
                return limit.take(&counts.dueOfOthers, at: now)
            }
            return limit.take(&counts.due[address, default: RateLimit.Due()], at: now)
        }
    }
}
