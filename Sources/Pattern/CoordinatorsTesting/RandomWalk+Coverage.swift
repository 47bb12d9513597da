public import Coordinators

extension RandomWalk {
    /// Tries every event in every state that it finds, as `coordinatord graph` does, then walks with many seeds, and requires
    /// that enough of the app was reached. Prints the parts that were not reached and the `Coverage.warnings`.
    ///
    /// ```swift
    /// @Test func `random walks reach everything`() async throws {
    ///     try await RandomWalk.cover(Shop.app, links: ["/products/42"], screens: ["receipt"])
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - app: evaluated again for each walk, so that no walk finds what another one has left in a service.
    ///   - screens: the names of screens that must be reached. Without them, a screen that no walk reaches is not
    ///     known.
    ///   - alerts: the titles of alerts that must be reached, for the same reason.
    ///   - least: the share that must be reached, from 0 to 1.
    /// - Throws: the `Failure` of the first walk that fails, or `TooLittle`.
    @discardableResult
    public static func cover(
        _ app: @autoclosure () -> App, seeds: Range<UInt64> = 0..<20, count: Int = 300,
        now: Date = CoordinatorTester.someTime, client: ClientInfo? = nil,
        links: [String] = [], expecting expected: [any Error.Type] = [], screens: [String] = [], alerts: [String] = [],
        atLeast least: Double = 1
    ) async throws -> Coverage {
        let first = app()
        var coverage = Coverage(of: first, screens: screens, alerts: alerts)
        let explored = app()
        // What fails here fails in a walk, too, which says how.
        _ = try? await AppMap(
            exploring: explored, limit: exploredStates, client: client,
            visit: { coverage.note($0, in: explored) },
            by: { (run) async throws(NavigationError) in
                var findings = Findings()
                return try await run.wholeResult(&findings)
            })
        for seed in seeds {
            let walk = RandomWalk(
                app(), seed: seed, count: count, now: now, client: client, links: links, expecting: expected)
            coverage.formUnion(try await walk.run())
        }
        if !coverage.missed.isEmpty || !coverage.warnings.isEmpty { print("app “\(first.name)”: \(coverage)") }
        guard coverage.share >= least else { throw TooLittle(coverage: coverage, least: least) }
        return coverage
    }

    /// As many as the server's console explores.
    private static let exploredStates = 500

    /// Random walks have reached less than was required.
    public struct TooLittle: Error, CustomStringConvertible {
        public let coverage: Coverage
        public let least: Double

        public var description: String { "\(coverage); required: \(least) of all" }
    }
}
