// swift-tools-version: 6.0
import Foundation
import PackageDescription

// The package that OpenAPI Generator made: its path is in the environment.
let client = ProcessInfo.processInfo.environment["GENERATED_CLIENT"] ?? "../swift"
let package = Package(
    name: "Decode",
    dependencies: [.package(name: "OpenAPIClient", path: client)],
    targets: [.executableTarget(name: "decode", dependencies: ["OpenAPIClient"], path: "Sources")])
