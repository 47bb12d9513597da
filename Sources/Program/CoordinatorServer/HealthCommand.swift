internal import ArgumentParser
internal import FoundationEssentials
internal import MicroHTTP

/// `health`: asks a running server whether it is ready. For the health check of a container that has no other client.
struct HealthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health", abstract: "Exits 0 if the server at an address is ready, 1 otherwise.",
        discussion: """
            Without --host and --port, the address is read from the file that the environment variable \
            \(AddressFile.variable) names, to which the server has written it, as in the image; otherwise it is that \
            of the server's settings in the environment and in a file, by default 127.0.0.1:8080.
            """)

    @Option(help: "The name or address that the server listens on: 127.0.0.1, ::1.", transform: SettingForm.host.parse)
    var host: String?

    @Option(help: "The port that the server listens on.")
    var port: Int?

    /// How many seconds the server may take to answer. For tests on a slow machine.
    @Option(help: .hidden)
    var timeout = 3

    func validate() throws {
        guard (1...65_535).contains(port ?? 1) else { throw ValidationError("--port takes a number from 1 to 65535.") }
    }

    func run() throws {
        let isNamed = host != nil || port != nil
        var address =
            try isNamed
            ? HTTPAuthority(host: host ?? "127.0.0.1", port: port ?? 8080)
            : HealthCommand.configured()
        var remark = ""
        if !isNamed, let file = AddressFile() {
            do throws(UnusableFile) { address = try file.read() } catch {
                remark = "\(error.reason), so \(address) was asked: "
            }
        }
        let (status, body): (Int, String)
        do throws(HTTPClientError) {
            (status, body) = try HTTPClient.get("/readyz", at: address, timeout: timeout)
        } catch {
            throw ExitCode.cannotStart(1, remark + reason(error, address))
        }
        let answer = try? JSONDecoder().decode(Answer.self, from: Data(body.utf8))
        switch (status, answer) {
        case (200, let answer?) where answer.store != nil:
            print("\(address) is ready")
            for remark in answer.remarks ?? [] { print("remark: \(remark)".printable) }
        case (503, let answer?):
            let reasons = [answer.title, answer.detail].compactMap(\.self).joined(separator: ": ")
            throw ExitCode.cannotStart(1, "\(remark)\(address) is not ready: \(reasons)")
        default:
            throw ExitCode.cannotStart(
                1, "\(remark)\(address) answers \(status) to GET /readyz, so it is not a coordinatord")
        }
    }

    /// The address that a server has by the settings in this environment.
    private static func configured() throws -> HTTPAuthority {
        let address = Settings.Address()
        do throws(SettingFailure) {
            let settings = try SettingResolution(
                of: address.rows, flags: [:], environment: ProcessInfo.processInfo.environment)
            return HTTPAuthority(host: settings.value(of: address.host), port: settings.value(of: address.port))
        } catch {
            throw ExitCode.cannotUse(error)
        }
    }

    /// What `/readyz` answers, ready or not.
    private struct Answer: Decodable {
        let store: String?
        let remarks: [String]?
        let title: String?
        let detail: String?
    }

    private func reason(_ error: HTTPClientError, _ address: HTTPAuthority) -> String {
        switch error {
        case .unknownHost: "no address is known for the host “\(address.host)”"
        case .noConnection(let reason): "no server answers at \(address): \(reason)"
        case .timedOut: "no answer from \(address) within \(timeout) seconds"
        case .notHTTP: "what listens at \(address) does not speak HTTP/1.1"
        }
    }
}
