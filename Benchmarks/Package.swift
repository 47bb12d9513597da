// swift-tools-version: 6.2
// What the server is measured against. Its own package, so that no contender's dependency reaches the product.
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v26)],
    dependencies: [
        // A peer: the server framework that Swift authors would take otherwise.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1")
    ],
    targets: [
        .executableTarget(name: "baseline", linkerSettings: [.linkedLibrary("microhttpd")]),
        .executableTarget(
            name: "hummingbird", dependencies: [.product(name: "Hummingbird", package: "hummingbird")]),
    ]
)
