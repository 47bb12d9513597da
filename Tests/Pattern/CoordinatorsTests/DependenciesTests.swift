import Coordinators
import Testing

protocol Greeter: Sendable {
    var greeting: String { get }
}

@Suite struct DependenciesTests {
    struct Polite: Greeter { let greeting = "Good day" }
    struct Brief: Greeter { let greeting = "Hi" }

    final class Clock: Sendable {}
    struct Watch: Sendable { let clock: Clock }
    final class Ticket: Sendable {}

    struct First: Sendable { init(_ needed: Second) {} }
    struct Second: Sendable { init(_ needed: any Sendable) {} }
    struct Third: Sendable { init(_ needed: Second) {} }
    struct Broken: Error, CustomStringConvertible { let description = "out of paper" }

    @Test func `a service is found by its protocol`() throws {
        var dependencies = Dependencies()
        dependencies.register((any Greeter).self) { _ in Polite() }

        let resolved = try dependencies.resolved()

        #expect(try resolved.resolve((any Greeter).self).greeting == "Good day")
    }

    @Test func `a singleton is shared, whatever the order of registration`() throws {
        var dependencies = Dependencies()
        dependencies.register(Watch.self) { Watch(clock: try $0.resolve()) }
        dependencies.register(Clock.self) { _ in Clock() }

        let resolved = try dependencies.resolved()

        let clock: Clock = try resolved.resolve()
        #expect(try resolved.resolve(Watch.self).clock === clock)
        #expect(try resolved.resolve(Clock.self) === clock)
    }

    @Test func `a factory makes a new value each time, and may use singletons`() throws {
        var dependencies = Dependencies()
        dependencies.registerFactory(Ticket.self) { _ in Ticket() }
        dependencies.registerFactory(Watch.self) { Watch(clock: try $0.resolve()) }
        dependencies.register(Clock.self) { _ in Clock() }

        let resolved = try dependencies.resolved()

        #expect(try resolved.resolve(Ticket.self) !== resolved.resolve(Ticket.self))
        #expect(try resolved.resolve(Watch.self).clock === resolved.resolve(Clock.self))
    }

    @Test func `the later registration wins`() throws {
        var dependencies = Dependencies()
        dependencies.register((any Greeter).self) { _ in throw Broken() }
        dependencies.registerFactory((any Greeter).self) { _ in Polite() }
        dependencies.register((any Greeter).self) { _ in Brief() }

        let resolved = try dependencies.resolved()

        #expect(try resolved.resolve((any Greeter).self).greeting == "Hi")
    }

    @Test func `an optional type is a type like any other`() throws {
        var dependencies = Dependencies()
        dependencies.register(Int?.self) { _ in nil }

        let resolved = try dependencies.resolved()

        #expect(try resolved.resolve(Int?.self) == nil)
        #expect(throws: DependencyError.missing(type: "Int", neededBy: nil)) { try resolved.resolve(Int.self) }
    }

    @Test func `a missing service and the one that needs it are named at the start`() {
        var dependencies = Dependencies()
        dependencies.register(First.self) { First(try $0.resolve(Second.self)) }
        dependencies.registerFactory(Second.self) { Second(try $0.resolve((any Greeter).self)) }

        #expect(throws: DependencyError.missing(type: "Greeter", neededBy: "Second")) {
            try dependencies.resolved()
        }
    }

    @Test func `a cycle is reported from its first service back to the same one`() {
        var dependencies = Dependencies()
        dependencies.register(First.self) { First(try $0.resolve(Second.self)) }
        dependencies.register(Second.self) { Second(try $0.resolve(Third.self)) }
        dependencies.registerFactory(Third.self) { Third(try $0.resolve(Second.self)) }

        #expect(throws: DependencyError.cycle(["Second", "Third", "Second"])) { try dependencies.resolved() }
    }

    @Test func `an error names the service that cannot be made, not the one that needs it`() {
        var dependencies = Dependencies()
        dependencies.register(First.self) { First(try $0.resolve(Second.self)) }
        dependencies.registerFactory(Second.self) { _ in throw Broken() }

        #expect(throws: DependencyError.failed(type: "Second", error: "out of paper")) {
            try dependencies.resolved()
        }
    }

    @Test func `a factory that nothing needs is tried, too`() {
        var dependencies = Dependencies()
        dependencies.registerFactory(Third.self) { _ in throw Broken() }

        #expect(throws: DependencyError.failed(type: "Third", error: "out of paper")) { try dependencies.resolved() }
    }
}
