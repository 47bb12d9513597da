/// Heads that must be refused, by what is wrong with them, and heads that must be accepted.
public enum FramingVectors {
    public struct Vector: Sendable, CustomStringConvertible {
        public let request: [UInt8]
        /// The acceptable ones; 0 if libmicrohttpd closes the connection without an answer.
        public let statuses: Set<Int>

        public var description: String { String(decoding: request, as: UTF8.self).debugDescription }

        init(_ request: String, _ statuses: Int...) {
            self.init(Array(request.utf8), Set(statuses))
        }

        init(_ request: [UInt8], _ statuses: Set<Int>) {
            self.request = request
            self.statuses = statuses
        }
    }

    public static let refused =
        requestLines + methods + targets + names + values + lineEnds + folds + hosts + lengths + codings

    private static func line(_ line: String, _ status: Int = 400) -> Vector {
        Vector("\(line)\r\nHost: x\r\n\r\n", status)
    }

    private static func fields(_ fields: String, _ statuses: Int..., method: String = "GET") -> Vector {
        Vector(Array("\(method) /a HTTP/1.1\r\nHost: x\r\n\(fields)\r\n\r\n".utf8), Set(statuses))
    }

    private static func bytes(_ before: String, _ byte: UInt8, _ after: String) -> Vector {
        Vector(Array(before.utf8) + [byte] + Array(after.utf8), [400])
    }

    static let requestLines =
        [
            "GET  /a HTTP/1.1", "GET /a  HTTP/1.1", "GET /a HTTP/1.1 ", "GET\t/a HTTP/1.1", "GET /a\tHTTP/1.1",
            "GET /a b HTTP/1.1", "GET HTTP/1.1", "GET  HTTP/1.1", "/a HTTP/1.1", "GET /a", "GET /a HTTP/1.9",
            "GET /a HTTP/1.2", "GET /a HTTP/1.1x", "GET /a http/1.1", "GET /a HTTP/1,1", "GET /a HTTP/11",
            "GET /a HTTP /1.1", "GET /a FTP/1.1", "GET /a HTTP/", "GET /a HTTP/1.1 HTTP/1.1",
            "GET /a HTTP/1.10", "GET /a HTTP/01.1", "GET /a HTTP/1.",
        ].map { line($0) } + ["GET /a HTTP/2.0", "GET /a HTTP/3.0"].map { line($0, 505) }
        + [Vector(" GET /a HTTP/1.1\r\nHost: x\r\n\r\n", 0), Vector("GET\r\nHost: x\r\n\r\n", 0)]

    static let methods =
        ["G@T", "G(T", "GET:", "GET/", "GET,", "G{T}", "G\"T", "GÉT"].map { line("\($0) /a HTTP/1.1") }
        + ["get", "GeT", "FOO", "GETT", "PROPFIND", "!"].map { line("\($0) /a HTTP/1.1", 501) }
        + [0, 1, 0x7F, 0xFF].map { bytes("G", $0, "T /a HTTP/1.1\r\nHost: x\r\n\r\n") }

    static let targets = [0, 1, 8, 0x0B, 0x0C, 0x0D, 0x1F, 0x7F, 0x80, 0xC3, 0xFF].map {
        bytes("GET /a", $0, "b HTTP/1.1\r\nHost: x\r\n\r\n")
    }

    static let names =
        [
            "A : b", "A\t: b", ": b", "A b: c", "A(b): c", "A/b: c", "A@b: c", "A[b]: c", "A\"b: c", "A,b: c", "A;b: c",
            "A=b: c", "A?b: c", "A{b}: c", "A\\b: c", "<A>: b", "Äb: c", "Abc", "Content-Length : 5", "Host : y",
            "Transfer-Encoding : chunked", "Content-Length\t: 5",
        ].map { fields($0, 400) }
        + [0, 1, 0x0B, 0x7F, 0x80].map { bytes("GET /a HTTP/1.1\r\nHost: x\r\nA", $0, "b: c\r\n\r\n") }

    static let values = [0, 1, 7, 8, 0x0B, 0x0C, 0x0D, 0x0E, 0x1B, 0x1F, 0x7F].map {
        bytes("GET /a HTTP/1.1\r\nHost: x\r\nA: b", $0, "c\r\n\r\n")
    }

    static let lineEnds = [
        "GET /a HTTP/1.1\nHost: x\n\n", "GET /a HTTP/1.1\nHost: x\r\n\r\n", "GET /a HTTP/1.1\r\nHost: x\n\r\n",
        "GET /a HTTP/1.1\r\nHost: x\r\n\n", "GET /a HTTP/1.1\r\nHost: x\nA: b\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: x\rA: b\r\n\r\n", "GET /a HTTP/1.1\r\nHost: x\r\r\n\r\n",
        "GET /a HTTP/1.1\r\r\nHost: x\r\n\r\n", "GET /a HTTP/1.1\r\nHost: x\r\nA: b\n\n",
        "GET /a HTTP/1.1\r\nHost: x\r\n\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n",
    ].map { Vector($0, 400) }

    static let folds =
        [
            "A: b\r\n c", "A: b\r\n\tc", "A: b\r\n  c\r\n  d", "A:\r\n b", "Content-: 4\r\n Length", "A: b\r\n Host: y",
            "A: b\r\n Content-Length: 5", "Content-Length: 1\r\n 0", "Transfer-Encoding:\r\n chunked", "A: b\r\n ",
        ].map { fields($0, 400, method: "POST") } + [Vector("GET /a HTTP/1.1\r\n Host: x\r\n\r\n", 400)]

    static let hosts =
        [
            "", "A: b\r\n", "Host: x\r\nHost: x\r\n", "Host: x\r\nHost: y\r\n", "host: x\r\nHOST: y\r\n",
            "Host: a b\r\n",
            "Host: a/b\r\n", "Host: a@b\r\n", "Host: a:b\r\n", "Host: a:80:90\r\n", "Host: [::1\r\n", "Host: ::1]\r\n",
            "Host: []\r\n", "Host: a\"b\r\n", "Host: <a>\r\n", "Host: a?b\r\n", "Host: a#b\r\n", "Host: a\\b\r\n",
            "Host: ä\r\n", "Host: http://a\r\n", "Host: a:-1\r\n",
        ].map { Vector("GET /a HTTP/1.1\r\n\($0)\r\n", 400) }
        + [Vector("GET /a HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", 400)]

    static let lengths =
        [
            "5\r\nContent-Length: 5", "5\r\nContent-Length: 6", "5\r\ncontent-length: 0", "5, 5", "5,6", "+5", "-5",
            "5x",
            "0x5", "5 5", "", " ", "5.", "1e1", "٥", "5\r\nTransfer-Encoding: chunked", "five", "5;", "\"5\"", "5_0",
        ].map { fields("Content-Length: \($0)", 400, method: "POST") }
        + ["18446744073709551615", "18446744073709551616", "99999999999999999999999", "9223372036854775808"]
        .map { fields("Content-Length: \($0)", 413, method: "POST") }

    static let codings =
        [
            fields("Transfer-Encoding: chunked", 411, method: "POST"),
            fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400, method: "POST"),
            fields("Transfer-Encoding: chunked\r\nContent-Length: 3", 400, method: "POST"),
            fields("Transfer-Encoding: \u{0B}chunked", 400, method: "POST"),
            Vector("POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            fields("Content-Length: 1\r\nExpect: something", 417, method: "POST"),
        ]
        + [
            "identity", "gzip, chunked", "xchunked", "chunked;q=1", "Chunked", "chunked, chunked", "", "chunkedx",
            "\"chunked\"",
        ]
        .map { fields("Transfer-Encoding: \($0)", 501, method: "POST") }

    /// Valid heads, each of a request with the body `12345`.
    public static let accepted: [String] =
        ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "QUERY"].map {
            "\($0) /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"
        }
        + [
            "/a?b=c&d=%20e", "/", "/~a.b-c_d!$&'()*+,;=:@", "/%C3%A9", "http://x/a", "HTTPS://x:443/a",
            "http://[::1]/a", "//a", "/a/", "/a//b",
        ].map { "POST \($0) HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n" }
        + ["OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"]
        + [
            "Host:x", "Host:\tx\t", "Host:   x   ", "host: x", "HOST: x", "Host: ", "Host:", "Host: x:80", "Host: x:",
            "Host: 127.0.0.1", "Host: [::1]", "Host: [::1]:80", "Host: a-b.c_d~e", "Host: a%20b", "Host: x\r\nA:b",
            "Host: x\r\nA: b \t ", "Host: x\r\nA: ", "Host: x\r\nA:", "Host: x\r\nA: \u{E9}\u{1F600}",
            "Host: x\r\nA: b\tc",
            "Host: x\r\nA: b\r\nA: c", "Host: x\r\n!#$%&'*+-.^_`|~09azAZ: b", "A: b\r\nHost: x",
            "Host: x\r\nCookie: a=b; c",
            "Host: x\r\nA: :::", "Host: x\r\nContent-Lengths: 7", "Host: x\r\nExpect: 100-continue",
            "Host: x\r\nA: \(String(repeating: "b", count: 4000))",
        ].map { "POST /a HTTP/1.1\r\n\($0)\r\nContent-Length: 5\r\n\r\n" }
        + [
            "\r\nPOST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: x\r\ncontent-length:5\r\n\r\n",
            "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length:\t 05\r\n\r\n",
        ]
}
