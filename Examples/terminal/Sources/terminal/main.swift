// terminal: draws any app of a coordinatord server in a terminal, and posts what is typed.
//
//     swift run --package-path Examples/terminal terminal shop --server http://127.0.0.1:8080
//
// It knows no app: what it draws and offers is what the state says. Input is read line by line, so it works in a pipe.
import CoordinatorClient
import Foundation

let usage = """
    usage: terminal [APP] [--server URL] [--link PATH] [--code CODE] [--file FILE] [--early]

      APP      the app's name; by default the server's default app
      --link   where the session begins, such as /products/42
      --code   takes part in the session of another device, which shows the code
      --file   keeps the session in a file, and goes on with it at the next start
      --early  draws “back”, tabs and closing at once, before the server has answered
    """

var app: String?
var options: [String: String] = [:]
var words = CommandLine.arguments.dropFirst()
while let word = words.popFirst() {
    switch word {
    case "--early": options[word] = "yes"
    case "--server", "--link", "--code", "--file": options[word] = words.popFirst()
    case _ where app == nil && !word.hasPrefix("-"): app = word
    default: stop(usage, code: word == "--help" ? 0 : 64)
    }
}
guard let server = URL(string: options["--server"] ?? "http://127.0.0.1:8080"), server.host() != nil else {
    stop(usage, code: 64)
}
let file = options["--file"].map { FileStorage(URL(filePath: $0)) }
let session = NavigationSession(
    server: server, storage: file ?? NoStorage(), drawsEarly: options["--early"] != nil)
do {
    if let code = options["--code"] {
        try await session.redeem(code)
    } else {
        try await session.start(app: app, link: options["--link"])
    }
} catch .refused(let problem) {
    stop("\(problem.title). \(problem.detail ?? "")", code: 1)
} catch .unreachable {
    stop("No server answers at \(server).", code: 1)
} catch {
    stop("\(error)", code: 1)
}
await Terminal(session: session).run()

func stop(_ message: String, code: Int32) -> Never {
    print(message)
    exit(code)
}
