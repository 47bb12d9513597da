public import Coordinators
internal import FoundationEssentials

/// Knows the bookings, and gives out the seats, to all kiosks.
public protocol Airline: Sendable {
    /// - Returns: `nil` if there is no such booking.
    func booking(_ code: String) async throws -> Booking?

    func freeSeats(on flight: String) async throws -> [String]

    /// Holds these seats, instead of those that were held under the same name.
    ///
    /// - Parameter hold: names the hold. To ask again for the same changes nothing.
    /// - Returns: until when; `nil` if a seat is taken, then nothing changes.
    func hold(_ seats: [String], on flight: String, as hold: String) async throws -> Date?

    /// Gives back the seats of a hold; none is no error.
    func release(_ hold: String) async throws

    /// Gives the seats of a hold for good. To ask again for the same changes nothing. Throws if the hold is over.
    func board(_ hold: String) async throws
}

/// The machine beside the kiosk that takes cards. Its provider reports the outcome by a signal.
public protocol CardTerminal: Sendable {
    /// Waits for a card. To ask again under the same reference changes nothing.
    func request(_ cents: Int, reference: String) async throws

    /// Waits no longer; what is paid or was never requested is no error.
    func cancel(_ reference: String) async throws
}

public struct Booking: Codable, Sendable, Equatable {
    let code: String
    let flight: String
    let passengers: [Passenger]
}

public struct Passenger: Codable, Sendable, Equatable {
    let id: Int
    let name: String
}

/// Both in memory, as slow and as unreliable as a test wants.
public actor AirportInMemory: Airline, CardTerminal {
    /// How long each call takes.
    private let latency: Duration
    private let now: @Sendable () -> Date
    /// How many of the next calls fail.
    private var failures = 0
    private var holds: [String: (seats: [String], until: Date)] = [:]
    /// What the terminal waits for, in cents, by the references.
    public private(set) var requests: [String: Int] = [:]

    private static let bookings = [
        Booking(
            code: "ABC123", flight: "LH 400",
            passengers: [Passenger(id: 1, name: "Ann Smith"), Passenger(id: 2, name: "Bob Smith")]),
        Booking(code: "XYZ789", flight: "LH 400", passengers: [Passenger(id: 1, name: "Cem Kaya")]),
    ]
    private static let seats = (10...14).flatMap { row in "ABCDEF".map { "\(row)\($0)" } }
    private static let holdTime: TimeInterval = 120
    /// A hold is valid a little longer than is said, so that it can be prolonged in time.
    private static let grace: TimeInterval = 10

    public init(latency: Duration, now: @escaping @Sendable () -> Date = { Date() }) {
        self.latency = latency
        self.now = now
    }

    public func fail(_ count: Int) { failures = count }

    public func booking(_ code: String) async throws -> Booking? {
        try await answer()
        return AirportInMemory.bookings.first { $0.code == code.uppercased() }
    }

    public func freeSeats(on flight: String) -> [String] { free(for: nil) }

    public func hold(_ seats: [String], on flight: String, as hold: String) async throws -> Date? {
        try await answer()
        guard seats.allSatisfy(free(for: hold).contains) else { return nil }
        let until = now() + AirportInMemory.holdTime
        holds[hold] = (seats, until)
        return until
    }

    public func release(_ hold: String) async throws {
        try await answer()
        holds[hold] = nil
    }

    public func board(_ hold: String) async throws {
        try await answer()
        guard let held = holds[hold], !isOver(held.until) else { throw HoldIsOver() }
        holds[hold]?.until = .distantFuture
    }

    public func request(_ cents: Int, reference: String) async throws {
        try await answer()
        requests[reference] = cents
    }

    public func cancel(_ reference: String) async throws {
        try await answer()
        requests[reference] = nil
    }

    private func answer() async throws {
        try await Task.sleep(for: latency)
        guard failures > 0 else { return }
        failures -= 1
        throw Unreachable()
    }

    /// - Parameter hold: its own seats count as free.
    private func free(for hold: String?) -> [String] {
        let others = holds.filter { $0.key != hold && !isOver($0.value.until) }
        let taken = others.values.flatMap(\.seats)
        return AirportInMemory.seats.filter { !taken.contains($0) }
    }

    private func isOver(_ until: Date) -> Bool { until + AirportInMemory.grace <= now() }

    struct Unreachable: Error {}
    struct HoldIsOver: Error {}
}
