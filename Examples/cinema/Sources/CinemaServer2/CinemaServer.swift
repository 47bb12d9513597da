import Cinema2
import CinemaServices
import CoordinatorServer
import Coordinators

@main
struct CinemaServer: NavigationServer {
    static let apps = [cinema(films: FilmsInMemory(), members: DemoMembers())]
}
