// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "CoordinatorClient",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [.library(name: "CoordinatorClient", targets: ["CoordinatorClient"])],
    targets: [
        .target(name: "CoordinatorClient", swiftSettings: settings),
        // What the repository's fault tests drive: not a product.
        .executableTarget(
            name: "driver", dependencies: ["CoordinatorClient"], path: "Tests/driver", swiftSettings: settings),
        .testTarget(
            name: "CoordinatorClientTests", dependencies: ["CoordinatorClient"], swiftSettings: settings),
    ]
)
