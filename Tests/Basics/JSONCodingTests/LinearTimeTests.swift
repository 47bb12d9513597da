import Glibc
import JSONCoding
import Testing

/// Objects of very many members, as clients may send them.
@Suite struct LinearTimeTests {
    static func text(members count: Int) -> [UInt8] {
        var text = Array("{".utf8)
        for number in 0..<count { text += "\(number == 0 ? "" : ",")\"k\(number)\":\(number)".utf8 }
        return text + Array("}".utf8)
    }

    /// The processor time of this thread in nanoseconds: other work on the machine does not count.
    static func time(_ work: () throws -> Void) rethrows -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
        }
        let start = now()
        try work()
        return max(1, now() - start)
    }

    enum Work: CaseIterable { case read, decode, make, compare, collect }

    static func time(_ work: Work, members count: Int) throws -> Double {
        let text = text(members: count)
        let json = try JSON(parsing: text)
        switch work {
        case .read: return try time { _ = try JSON(parsing: text) }
        case .decode: return try time { _ = try json.decode(as: [String: Int].self) }
        case .make:
            let members = (0..<count).map { ("k\($0)", JSON.integer($0)) }
            return time { _ = JSONObject(members) }
        case .collect:
            let objects = (0..<count).map { JSON.object(["id": .integer($0)]) }
            return time { #expect(Set(objects).count == count) }
        case .compare:
            let members = json.object?.members.reversed().map { ($0.name, $0.value) } ?? []
            let reversed = JSON.object(JSONObject(members))
            var isSame = false
            let time = time { isSame = json == reversed }
            #expect(isSame)
            return time
        }
    }

    /// Sixteen times as many members take about sixteen times as long. Quadratic work would take 256 times as long.
    @Test(arguments: Work.allCases) func `time grows with the number of members, not with its square`(
        work: Work
    ) throws {
        // Repeated, because the processor may be slower at one time than at another.
        let isLinear = try (0..<10).contains { _ in
            let few = try (0..<3).map { _ in try LinearTimeTests.time(work, members: 500) }.max() ?? 0
            return try LinearTimeTests.time(work, members: 8000) < 64 * few
        }

        #expect(isLinear)
    }

    /// With a linear search for each name, that many would take hours.
    @Test(arguments: [64, 16 * 1024])
    func `an object as large as a body may be is decoded`(kibibytes: Int) throws {
        let text = LinearTimeTests.text(members: kibibytes * 1024 / 18)
        #expect(text.count <= kibibytes * 1024)

        let values = try JSON(parsing: text).decode(as: [String: Int].self)

        #expect(values.count == kibibytes * 1024 / 18)
    }

    @Test func `a repeated name is found among many, by its bytes`() throws {
        let many = String(decoding: LinearTimeTests.text(members: 100).dropLast(), as: UTF8.self)

        #expect(throws: JSONSyntaxError(reason: .duplicateName, offset: many.utf8.count + 1)) {
            try JSON(parsing: Array((many + #","k99":0}"#).utf8))
        }
        // One letter, written in two ways: RFC 8259, section 8.3.
        let both = try JSON(parsing: Array((many + ",\"\u{E9}\":1,\"e\u{301}\":2}").utf8))
        #expect(both["\u{E9}"] == 1 && both["e\u{301}"] == 2)
    }

    @Test func `members can be added, replaced and removed, however many there are`() {
        var object = JSONObject()
        for number in 0..<40 { object["k\(number)"] = .integer(number) }
        for number in stride(from: 0, to: 40, by: 2) { object["k\(number)"] = nil }
        object["k1"] = "new"
        object["k0"] = "again"

        #expect(object.names == stride(from: 1, to: 40, by: 2).map { "k\($0)" } + ["k0"])
        #expect(object["k1"] == "new" && object["k0"] == "again" && object["k2"] == nil && object["k39"] == 39)
    }
}
