// swift-tools-version: 6.2
// The programs that the server is measured against: a separate package, so that the product has none of their
// dependencies.
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v26)],
    dependencies: [
        // A peer: the server framework that Swift authors would otherwise use.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1")
    ],
    targets: [
        .executableTarget(name: "baseline", linkerSettings: [.linkedLibrary("microhttpd")]),
        .executableTarget(
            name: "hummingbird", dependencies: [.product(name: "Hummingbird", package: "hummingbird")]),
    ]
)
