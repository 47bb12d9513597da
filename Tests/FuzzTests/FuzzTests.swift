@testable internal import CoordinatorsTesting
internal import FoundationEssentials
internal import Glibc
internal import Testing
internal import TestSupport

/// What `scripts/fuzz` begins with, without its sanitizer: the seeds, mutations of them, and a short storm.
@Suite struct FuzzTests {
    @Test(arguments: Fuzz.targets.map(\.name))
    func `a reader keeps its promises for its seeds, and for mutations of them`(name: String) async throws {
        let target = try #require(Fuzz.targets.first { $0.name == name }).target
        let seeds = try await target.seeds
        var mutator = Mutator(seed: 1)

        for seed in seeds {
            target.check(seed)
            var mutated = seed
            mutator.mutate(&mutated, other: seeds[mutator.number(in: 0..<seeds.count)])
            target.check(mutated)
        }
        #expect(seeds.count > 1)
    }

    @Test func `mutated requests leave a server healthy`() async throws {
        // The exit may take longer than usual on a slow machine.
        let server = try Program.coordinatord("serve", "--port", "0", "--store", "memory", "--drain-time", "2m")
        let line = try await server.line()
        let port = try #require(
            line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) }, "\(line)")

        try await RequestStorm(port: port, count: 2000, seed: 1).run()

        server.signal(SIGTERM)
        #expect(try await server.exit().code == 0)
    }
}
