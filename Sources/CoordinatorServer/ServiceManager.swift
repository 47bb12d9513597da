internal import ByteText
internal import FoundationEssentials
internal import Glibc

/// The service manager that has started the process, such as systemd with `Type=notify`, and wants to hear how it is:
/// see sd_notify(3).
struct ServiceManager: Sendable, Equatable {
    enum State: String {
        case ready = "READY=1"
        case stopping = "STOPPING=1"
        /// A sign of life.
        case alive = "WATCHDOG=1"
    }

    /// The path of a datagram socket; an `@` at the beginning stands for Linux' abstract name space.
    let socket: String
    /// How long the manager waits for a sign of life before it kills the process; `nil` if it needs none.
    let patience: Duration?

    /// - Returns: `nil` if nobody wants to know.
    init?(_ environment: [String: String] = ProcessInfo.processInfo.environment, processID: pid_t = getpid()) {
        guard let socket = environment["NOTIFY_SOCKET"], socket.begins(with: "/") || socket.begins(with: "@") else {
            return nil
        }
        self.socket = socket
        // The variables may be meant for the process that has started this one.
        let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(processID)" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int($0) } ?? 0
        patience = isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Gives signs of life, if the manager needs them, until the process ends. They come from where coordinators run: one
    /// that blocks all of it is noticed.
    func keepAlive() {
        guard let patience else { return }
        Task { @concurrent in
            while true {
                tell(.alive)
                try? await Task.sleep(for: patience / 3)
            }
        }
    }

    /// Never waits: a manager that does not read misses it.
    func tell(_ state: State) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(socket.utf8)
        guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        withUnsafeMutableBytes(of: &address.sun_path) {
            $0.copyBytes(from: name[0] == UInt8(ascii: "@") ? [0] + name.dropFirst() : name)
        }
        let size = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + name.count)
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let text = Array(state.rawValue.utf8)
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0, size)
            }
        }
    }
}
