// coordinatord: the server with the reference apps.

internal import CoordinatorServer
internal import Coordinators
internal import ReferenceApps

@main
struct Coordinatord: NavigationServer {
    static let apps = ReferenceApps.all
}
