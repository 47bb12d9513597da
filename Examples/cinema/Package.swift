// swift-tools-version: 6.2
import PackageDescription

let coordinators = Target.Dependency.product(name: "Coordinators", package: "coordinatord")
let server = Target.Dependency.product(name: "CoordinatorServer", package: "coordinatord")
let testing = Target.Dependency.product(name: "CoordinatorsTesting", package: "coordinatord")

let package = Package(
    name: "cinema",
    platforms: [.macOS(.v26)],
    products: [
        .executable(name: "cinema1", targets: ["CinemaServer1"]),
        .executable(name: "cinema", targets: ["CinemaServer2"]),
    ],
    dependencies: [.package(name: "coordinatord", path: "../..")],
    targets: [
        .target(name: "CinemaServices"),
        .target(name: "Cinema1", dependencies: ["CinemaServices", coordinators]),
        .target(name: "Cinema2", dependencies: ["CinemaServices", coordinators]),
        .executableTarget(name: "CinemaServer1", dependencies: ["Cinema1", "CinemaServices", server]),
        .executableTarget(name: "CinemaServer2", dependencies: ["Cinema2", "CinemaServices", server]),
        .testTarget(name: "CinemaTests", dependencies: ["Cinema1", "Cinema2", "CinemaServices", testing]),
    ]
)
