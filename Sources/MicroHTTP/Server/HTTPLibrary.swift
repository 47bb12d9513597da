internal import CMicroHTTPD

/// The libmicrohttpd that this process has loaded.
enum HTTPLibrary {
    /// The numbers of its version: 0, 9, 75.
    static let version = String(cString: MHD_get_version()).split(separator: ".").map { Int($0) ?? 0 }

    /// Whether it follows RFC 9112 when it is set to. Before 1.0 it does not, and `HeadCheck` checks what it has done.
    static let isStrict = !version.lexicographicallyPrecedes([1, 0])

    /// Whether `HeadCheck` knows this version's faults.
    static let isKnown = !version.lexicographicallyPrecedes([0, 9, 75])
}
