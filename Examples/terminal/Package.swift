// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "terminal",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "CoordinatorClient", path: "../../Clients/Swift")],
    targets: [
        .executableTarget(
            name: "terminal", dependencies: [.product(name: "CoordinatorClient", package: "CoordinatorClient")],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ])
    ]
)
