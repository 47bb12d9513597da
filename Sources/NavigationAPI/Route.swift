/// The paths that are answered.
enum Route: Equatable {
    case sessions
    case session(id: String)
    case events(id: String)
    case coordinators(id: String)
    case history(id: String)
    case version(id: String, version: String)
    case apps
    case app(name: String)
    case livez
    case readyz
    case openAPI

    init?(_ segments: [String]) {
        switch segments.count {
        case 1:
            switch segments[0] {
            case "livez": self = .livez
            case "readyz": self = .readyz
            case "openapi.yaml": self = .openAPI
            default: return nil
            }
        case 2 where segments[0] == "v1":
            switch segments[1] {
            case "sessions": self = .sessions
            case "apps": self = .apps
            default: return nil
            }
        case 3 where segments[0] == "v1":
            switch segments[1] {
            case "sessions": self = .session(id: segments[2])
            case "apps": self = .app(name: segments[2])
            default: return nil
            }
        case 4 where segments[0] == "v1" && segments[1] == "sessions":
            switch segments[3] {
            case "events": self = .events(id: segments[2])
            case "coordinators": self = .coordinators(id: segments[2])
            case "history": self = .history(id: segments[2])
            default: return nil
            }
        case 5 where segments[0] == "v1" && segments[1] == "sessions" && segments[3] == "history":
            self = .version(id: segments[2], version: segments[4])
        default: return nil
        }
    }

    /// The session's id, as it stands in the path.
    var session: String? {
        switch self {
        case .session(let id), .events(let id), .coordinators(let id), .history(let id), .version(let id, _): id
        case .sessions, .apps, .app, .livez, .readyz, .openAPI: nil
        }
    }

    /// The methods that the path takes, for `Allow`. HEAD is answered wherever GET is.
    var methods: [String] {
        switch self {
        case .sessions, .events: Route.post
        case .session: Route.readAndDelete
        case .coordinators, .history, .version, .apps, .app, .livez, .readyz, .openAPI: Route.read
        }
    }

    private static let post = ["POST"]
    private static let read = ["GET", "HEAD"]
    private static let readAndDelete = ["GET", "HEAD", "DELETE"]
}
