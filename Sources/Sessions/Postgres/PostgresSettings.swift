internal import ByteText
internal import CPostgres

/// Returns the password for a connection that is about to be made, which may be another one than before; `nil` for what
/// libpq finds. Called on threads that may block.
public typealias PostgresPassword = @Sendable () -> String?

/// Where a database is and how to connect to it.
public struct PostgresSettings: Sendable, CustomStringConvertible {
    /// The servers that may be the database's primary, in the order in which they are tried: keywords and values of
    /// libpq, `host`, `hostaddr`, `port`.
    let hosts: [[String: String]]
    /// Keywords and values of libpq, without those of `hosts` and without a password.
    private let options: [String: String]
    private let password: PostgresPassword?
    /// For logs: the URI's user, hosts and database.
    public let description: String

    /// Settings from a URI as libpq reads it: `postgresql://user@h1:5432,h2:5432/database?sslmode=verify-full`. What it
    /// leaves out comes from libpq's environment variables, `PGPASSWORD` and `PGPASSFILE` among them.
    ///
    /// - Parameter password: called for each connection that is made; `nil` for what the environment or the password file
    ///   has.
    public init(uri: String, password: PostgresPassword? = nil) throws(PostgresSettingsError) {
        guard uri.begins(with: "postgresql://") || uri.begins(with: "postgres://") else { throw .notURI }
        // The text of libpq's error quotes the URI, and with it a password that may be there.
        guard let parsed = PQconninfoParse(uri, nil) else { throw .invalid }
        defer { PQconninfoFree(parsed) }
        var options: [String: String] = [:]
        var next = parsed
        while let keyword = next.pointee.keyword {
            if let value = next.pointee.val {
                let keyword = String(cString: keyword)
                // libpq marks what must not be shown.
                if next.pointee.dispchar?.pointee == CChar(bitPattern: UInt8(ascii: "*")) {
                    throw .hasSecret(keyword: keyword)
                }
                options[keyword] = String(cString: value)
            }
            next += 1
        }
        hosts = try PostgresSettings.hosts(&options)
        try PostgresSettings.checkNames(hosts, options)
        description = PostgresSettings.describe(hosts, options)
        for (keyword, value) in PostgresSettings.defaults where options[keyword] == nil { options[keyword] = value }
        options["client_encoding"] = "UTF8"
        self.options = options
        self.password = password
    }

    /// Keywords and values of libpq for a connection to one of `hosts`, with the password of this moment.
    func options(host: Int) -> [String: String] {
        var options = options.merging(hosts[host]) { $1 }
        if let password = password?() { options["password"] = password }
        return options
    }

    /// A dead server or network is noticed within seconds: unacknowledged bytes after 2 s, an idle connection after 3.
    private static let defaults = [
        "target_session_attrs": "read-write", "tcp_user_timeout": "2000", "keepalives": "1", "keepalives_idle": "1",
        "keepalives_interval": "1", "keepalives_count": "2", "gssencmode": "disable",
        "application_name": "coordinatord",
    ]

    /// Moves the hosts out of the options. `PostgresConnection.connect` tries them one by one, each with a deadline:
    /// libpq has none when it is used without blocking.
    private static func hosts(_ options: inout [String: String]) throws(PostgresSettingsError) -> [[String: String]] {
        let lists = ["host", "hostaddr", "port"].compactMap { keyword in
            options.removeValue(forKey: keyword).map { list in
                (keyword, list.parts(at: ",").map(String.init))
            }
        }
        let count = lists.lazy.filter { $0.0 != "port" }.map(\.1.count).max() ?? 1
        // One port may be that of all hosts.
        guard lists.allSatisfy({ $0.1.count == count || ($0.0 == "port" && $0.1.count == 1) }) else { throw .invalid }
        return (0..<count).map { index in
            var options: [String: String] = [:]
            for (keyword, values) in lists {
                let value = values.count == 1 ? values[0] : values[index]
                if !value.isEmpty { options[keyword] = value }
            }
            return options
        }
    }

    /// Refuses a URI with a password in the wrong place: libpq would read it as a part of a name, and names are shown.
    private static func checkNames(
        _ hosts: [[String: String]], _ options: [String: String]
    ) throws(PostgresSettingsError) {
        let names = hosts.compactMap { $0["host"] }
        if names.contains(where: { $0.has("@") }) || options["user"]?.has(":") == true {
            throw .hasSecret(keyword: "password")
        }
        // “USER:PASSWORD@HOST” of a second host is a host and a port to libpq.
        for port in hosts.compactMap({ $0["port"] }) where Int(port).map((1...65_535).contains) != true {
            throw port.has("@") ? .hasSecret(keyword: "password") : .invalid
        }
        guard options["dbname"]?.utf8.contains(where: { ";#?&=".utf8.contains($0) }) != true else { throw .invalid }
    }

    private static func describe(_ hosts: [[String: String]], _ options: [String: String]) -> String {
        let places = hosts.map { host in
            let name = host["host"] ?? host["hostaddr"] ?? ""
            return host["port"].map { "\(name):\($0)" } ?? name
        }
        let user = options["user"].map { "\($0)@" } ?? ""
        return "postgresql://\(user)\(places.joined(separator: ","))/\(options["dbname"] ?? "")"
    }
}

/// Why a URI cannot be used.
public enum PostgresSettingsError: Error, Equatable, Sendable {
    case notURI
    case invalid
    /// It contains a password, or another secret.
    case hasSecret(keyword: String)
}

extension PostgresSettingsError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notURI: "a PostgreSQL database is named by a URI: postgresql://user@host:5432/database"
        case .invalid:
            """
            this URI names no database; see "Connection URIs" in https://www.postgresql.org/docs/15/libpq-connect.html
            """
        case .hasSecret(let keyword):
            """
            the URI contains a \(keyword), which others could read in the list of processes or in the environment: put it \
            into a file, PGPASSFILE or PGPASSWORD, and take it out of the URI
            """
        }
    }
}
