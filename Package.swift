// swift-tools-version: 6.2
// Each target's main file has the target's name and opens with what it is for. `Tests/ArchitectureTests` checks that
// targets depend only on their own floor and on lower ones, and `scripts/draw-floors` draws them for `docs/design.md`.
import PackageDescription

/// The folders of `Sources` and `Tests`, the lowest floor first.
let floors: KeyValuePairs = [
    "C": ["CFiles", "CEpoll", "CSymbols", "CMicroHTTPD", "CSodium", "CSQLite", "CPostgres", "CZlib", "CJemalloc"],
    "Basics": ["ByteText", "JSONCoding", "Measures", "Sodium", "Gzip"],
    "Pattern": ["Coordinators", "CoordinatorsTesting"],
    "Sessions": ["Sessions", "SQLite", "SQLiteStore", "Postgres", "PostgresStore", "StoreTests"],
    "HTTP": ["MicroHTTP", "NavigationAPI"],
    "Observability": ["Prometheus", "OpenTelemetry"],
    "Program": ["CoordinatorServer", "ReferenceApps", "coordinatord", "ServerTests", "FaultTests"],
]

let package = Package(
    name: "coordinatord",
    platforms: [.macOS(.v26)],
    products: [
        .library(name: "Coordinators", targets: ["Coordinators"]),
        .library(name: "CoordinatorsTesting", targets: ["CoordinatorsTesting"]),
        .library(name: "CoordinatorServer", targets: ["CoordinatorServer"]),
        .executable(name: "coordinatord", targets: ["coordinatord"]),
    ],
    traits: [
        // What a small server does not need. The only trait: SwiftPM passes several traits to the compiler in an order
        // that changes from run to run, and compiles everything again when it has changed.
        .trait(name: "Complete", description: "PostgreSQL, traces for OpenTelemetry, and the console."),
        .default(enabledTraits: ["Complete"]),
    ],
    dependencies: [
        // The command line: subcommands, flags, help, exit code 64 on a usage error.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Logs that an embedding program can send elsewhere.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // An app's own metrics are at `/metrics` with the server's.
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        // An app's own spans join the trace of their request.
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ],
    targets: [
        .systemLibrary(
            name: "CMicroHTTPD", pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev"]), .brew(["libmicrohttpd"])]),
        .systemLibrary(
            name: "CSodium", pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(
            name: "CZlib", pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(
            name: "CJemalloc", pkgConfig: "jemalloc",
            providers: [.apt(["libjemalloc-dev"]), .brew(["jemalloc"])]),
        .systemLibrary(
            name: "CPostgres", pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .systemLibrary(name: "CEpoll"),
        .systemLibrary(name: "CSymbols"),
        .target(
            name: "CFiles", exclude: ["Console", "Template"],
            cSettings: [.define("COMPLETE", .when(traits: ["Complete"]))]),

        .target(name: "ByteText"),
        .target(name: "JSONCoding"),
        .target(name: "Measures"),
        .target(
            name: "Prometheus",
            dependencies: ["Measures", .product(name: "CoreMetrics", package: "swift-metrics")]),
        .target(
            name: "OpenTelemetry",
            dependencies: [
                "JSONCoding", "Measures", "MicroHTTP", .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
        .target(name: "MicroHTTP", dependencies: ["CMicroHTTPD", "CEpoll", "ByteText", "Measures"]),
        .target(name: "Sodium", dependencies: ["CSodium"]),
        .target(name: "Gzip", dependencies: ["CZlib"]),
        .target(name: "SQLite", dependencies: ["CSQLite"]),
        .target(name: "Postgres", dependencies: ["CPostgres", "ByteText"]),

        .target(name: "Coordinators", dependencies: ["ByteText", "JSONCoding"]),
        .target(
            name: "CoordinatorsTesting",
            dependencies: [
                "Coordinators", "JSONCoding", "ByteText",
                .target(name: "CSymbols", condition: .when(platforms: [.linux])),
            ]),
        .target(
            name: "Sessions",
            dependencies: [
                "Coordinators", "JSONCoding", "Measures", "Sodium",
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
        .target(name: "SQLiteStore", dependencies: ["Sessions", "SQLite", "Sodium", "ByteText", "Measures"]),
        .target(name: "PostgresStore", dependencies: ["Sessions", "Postgres", "Sodium", "ByteText", "Measures"]),
        .target(
            name: "NavigationAPI",
            dependencies: [
                "CFiles", "Sessions", "Coordinators", "ByteText", "Measures", "MicroHTTP", "JSONCoding", "Sodium",
                "Gzip", .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
        .target(
            name: "CoordinatorServer",
            dependencies: [
                "CoordinatorsTesting", "NavigationAPI", "Sessions", "SQLiteStore", "Coordinators", "MicroHTTP",
                "ByteText", "JSONCoding", "Measures", "Prometheus", "Sodium",
                .target(name: "PostgresStore", condition: .when(traits: ["Complete"])),
                .target(name: "OpenTelemetry", condition: .when(traits: ["Complete"])),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),

        .target(name: "ReferenceApps", dependencies: ["Coordinators", "SQLite", "Sodium"]),
        .executableTarget(
            name: "coordinatord",
            dependencies: [
                "CFiles", "CoordinatorServer", "Coordinators", "ReferenceApps",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),

        .target(
            name: "TestSupport", dependencies: ["Coordinators", "JSONCoding", "MicroHTTP", "CZlib"],
            path: "Tests/TestSupport"),
        // Everything that can happen to a session, from one seed.
        .target(
            name: "Simulation", dependencies: ["Coordinators", "CoordinatorsTesting", "JSONCoding"],
            path: "Tests/Simulation/Simulation"),
        .target(
            name: "SessionSimulation",
            dependencies: ["Simulation", "Sessions", "SQLiteStore", "Coordinators", "JSONCoding", "Sodium"],
            path: "Tests/Simulation/SessionSimulation"),
        .executableTarget(
            name: "simulate", dependencies: ["Simulation", "SessionSimulation"], path: "Tests/Simulation/simulate"),
        .testTarget(
            name: "SimulationTests", dependencies: ["Simulation", "SessionSimulation"],
            path: "Tests/Simulation/SimulationTests"),
        // For Benchmarks/engine.
        .executableTarget(name: "enginecost", dependencies: ["Coordinators"], path: "Tests/Pattern/EngineCost"),
        // A server with unusual apps, which the tests run.
        .executableTarget(
            name: "oddserver",
            dependencies: [
                "CoordinatorServer", "Coordinators",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ], path: "Tests/OddServer"),
        .testTarget(name: "ArchitectureTests"),
        .testTarget(name: "MeasuresTests", dependencies: ["Measures"]),
        .testTarget(
            name: "PrometheusTests",
            dependencies: [
                "Prometheus", "Measures", .product(name: "CoreMetrics", package: "swift-metrics"),
            ]),
        .testTarget(
            name: "OpenTelemetryTests",
            dependencies: [
                "OpenTelemetry", "MicroHTTP", "JSONCoding", "TestSupport",
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
        .testTarget(name: "JSONCodingTests", dependencies: ["JSONCoding"]),
        .testTarget(
            name: "CoordinatorsTests",
            dependencies: ["Coordinators", "CoordinatorsTesting", "JSONCoding", "TestSupport"]),
        .testTarget(name: "MicroHTTPTests", dependencies: ["MicroHTTP", "TestSupport"]),
        .testTarget(name: "SodiumTests", dependencies: ["Sodium"]),
        .testTarget(name: "SQLiteTests", dependencies: ["SQLite"]),
        .testTarget(name: "PostgresTests", dependencies: ["Postgres", "TestSupport"]),
        .testTarget(
            name: "SessionsTests",
            dependencies: ["Sessions", "Measures", "Sodium", "Coordinators", "JSONCoding", "TestSupport"]),
        .testTarget(
            name: "StoreTests",
            dependencies: [
                "Sessions", "SQLiteStore", "SQLite", "PostgresStore", "Postgres", "Sodium", "Coordinators",
                "JSONCoding",
                "TestSupport",
            ]),
        .testTarget(
            name: "PostgresStoreTests",
            dependencies: ["PostgresStore", "Postgres", "Sessions", "Sodium", "TestSupport"]),
        .testTarget(
            name: "NavigationAPITests",
            dependencies: [
                "NavigationAPI", "Sessions", "Sodium", "Coordinators", "MicroHTTP", "JSONCoding", "TestSupport",
            ]),
        .testTarget(
            name: "ReferenceAppsTests",
            dependencies: [
                "ReferenceApps", "CoordinatorsTesting", "Coordinators", "Sessions", "JSONCoding", "SQLite",
                "TestSupport",
            ]),
        .testTarget(
            name: "FaultTests",
            dependencies: ["coordinatord", "oddserver", "SQLiteStore", "Sessions", "TestSupport"]),
        .testTarget(
            name: "ServerTests",
            dependencies: [
                "coordinatord", "oddserver", "CoordinatorServer", "SQLite", "JSONCoding", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c2x
)

// `scripts/fuzz` builds the fuzz tests as a program that is linked with libFuzzer; other builds do not use libFuzzer.
let fuzzed: [Target.Dependency] = [
    "NavigationAPI", "Sessions", "SQLiteStore", "Coordinators", "CoordinatorsTesting", "ReferenceApps", "MicroHTTP",
    "JSONCoding", "SQLite", "Sodium", "TestSupport",
]
if Context.environment["COORDINATORD_FUZZING"] == nil {
    package.targets.append(
        .testTarget(name: "FuzzTests", dependencies: fuzzed + ["coordinatord"], exclude: ["FuzzProgram.swift"]))
} else {
    package.targets += [
        .systemLibrary(name: "CLibFuzzer", path: "Tests/CLibFuzzer"),
        .executableTarget(
            name: "fuzz", dependencies: fuzzed + ["CLibFuzzer"], path: "Tests/FuzzTests", exclude: ["FuzzTests.swift"]),
    ]
}

// A sanitizer has its own allocator.
let hasJemalloc = Context.environment["COORDINATORD_SANITIZED"] == nil
if hasJemalloc {
    package.targets.first { $0.name == "CoordinatorServer" }?.dependencies.append("CJemalloc")
}

for target in package.targets where target.path == nil {
    let names = [target.name, target.isTest ? String(target.name.dropLast("Tests".count)) : ""]
    guard let floor = floors.first(where: { $0.value.contains(where: names.contains) })?.key else { continue }
    target.path = "\(target.isTest ? "Tests" : "Sources")/\(floor)/\(target.name)"
}
// Most of the tests' time is spent in these: in a build for tests they are optimized, and still check their assertions.
let isForTests = Context.environment["COORDINATORD_TESTS"] != nil
let optimized =
    isForTests ? ["ByteText", "JSONCoding", "Coordinators", "SQLite", "Simulation", "SessionSimulation"] : []
for target in package.targets where target.type != .system {
    target.swiftSettings = [
        "ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "NonisolatedNonsendingByDefault",
    ]
    .map { .enableUpcomingFeature($0) }
    if hasJemalloc { target.swiftSettings?.append(.define("JEMALLOC")) }
    if optimized.contains(target.name) {
        target.swiftSettings?.append(.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug)))
    }
}
