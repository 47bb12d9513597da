internal import ByteText

/// Variables of the environment that begin as settings do, and are none.
enum OtherVariables {
    /// Each with what it is.
    static let all = [
        (AddressFile.variable, "the file to which `serve` writes its address, and where `health` reads it"),
        ("COORDINATORD_SERVER", "for this project's tests: the server under test"),
        ("COORDINATORD_TORTURE", "for this project's tests: how long they last"),
        ("COORDINATORD_CLUSTERS", "for this project's scripts: where PostgreSQL clusters are made"),
        ("COORDINATORD_FUZZING", "for building this project's fuzzer"),
    ]

    /// What platforms set to the port that a program is to listen on.
    static let port = "PORT"

    /// Whether Kubernetes has set the variable for a service whose name begins with `coordinatord`, in the form of
    /// Docker's links: COORDINATORD_SERVICE_HOST, COORDINATORD_PORT=tcp://10.0.0.1:80, COORDINATORD_PORT_80_TCP_ADDR.
    static func isServiceLink(_ name: String, _ value: String) -> Bool {
        if name.ends(with: "_PORT"), ["tcp://", "udp://", "sctp://"].contains(where: value.begins) { return true }
        let words = name.parts(at: "_")
        if let index = words.lastIndex(of: "SERVICE"), index > 0, index + 1 < words.count {
            if words[index + 1] == "PORT" || words[(index + 1)...] == ["HOST"] { return true }
        }
        guard let protocolIndex = words.lastIndex(where: { ["TCP", "UDP", "SCTP"].contains($0) }), protocolIndex >= 2,
            Int(words[protocolIndex - 1]) != nil, words[protocolIndex - 2] == "PORT"
        else { return false }
        let rest = words[(protocolIndex + 1)...]
        return rest.isEmpty || rest == ["ADDR"] || rest == ["PORT"] || rest == ["PROTO"]
    }
}
