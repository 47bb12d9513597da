internal import FoundationEssentials
internal import MicroHTTP
internal import Sessions
internal import Synchronization

/// Limits how often each address may do something.
final class AddressRates: Sendable {
    /// How many addresses have a count of their own. Further ones share one count, so that memory stays bounded.
    private static let capacity = 65_536

    private struct Counts {
        var due: [IPAddress: RateLimit.Due] = [:]
        var dueOfOthers = RateLimit.Due()
        var nextCleaning = Date.distantPast

        /// Removes addresses of which nothing is counted any more; at most once a second, because it takes a while.
        mutating func clean(at now: Date) {
            guard now > nextCleaning else { return }
            due = due.filter { !$0.value.isOver(at: now) }
            nextCleaning = now + 1
        }
    }

    let limit: RateLimit
    private let counts = Mutex(Counts())

    init(_ limit: RateLimit) {
        self.limit = limit
    }

    /// Counts one use by the address.
    ///
    /// - Returns: the seconds to wait, `nil` if the use is within the limit; and how many more are within it now.
    func take(_ address: IPAddress, at now: Date) -> (wait: Int?, remaining: Int) {
        let address = address.subscriber
        return counts.withLock { counts in
            counts.clean(at: now)
            guard counts.due[address] != nil || counts.due.count < AddressRates.capacity else {
                return take(&counts.dueOfOthers, at: now)
            }
            return take(&counts.due[address, default: RateLimit.Due()], at: now)
        }
    }

    /// Undoes what `take` has counted, unless it was counted together with other addresses.
    func giveBack(_ address: IPAddress) {
        let address = address.subscriber
        counts.withLock { counts in
            guard var due = counts.due[address] else { return }
            limit.giveBack(&due)
            counts.due[address] = due
        }
    }

    private func take(_ due: inout RateLimit.Due, at now: Date) -> (wait: Int?, remaining: Int) {
        (limit.take(&due, at: now), limit.remaining(due, at: now))
    }
}
