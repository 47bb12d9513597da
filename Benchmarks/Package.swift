// swift-tools-version: 6.2
// What the server is measured against. Its own package, so that no contender's dependency reaches the product.
import PackageDescription

let package = Package(
    name: "Benchmarks",
    targets: [
        .executableTarget(name: "baseline", linkerSettings: [.linkedLibrary("microhttpd")])
    ]
)
