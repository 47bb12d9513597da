import Testing

@testable import OpenTelemetry

/// W3C Trace Context, section 3.2 and 3.3.
@Suite struct TraceContextTests {
    private static let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")

    @Test(arguments: [
        ("00", "01", true), ("00", "00", false),
        // Flags that are not known yet.
        ("00", "03", true), ("00", "fe", false), ("00", "ff", true),
        // Later versions.
        ("01", "01", true), ("fe", "00", false), ("cc", "01", true),
    ])
    func `the caller's span is read`(version: String, flags: String, isSampled: Bool) throws {
        let text = "\(version)-\(TraceContextTests.trace)-\(TraceContextTests.span)-\(flags)"

        let context = try #require(TraceContext(parent: text, state: nil))

        #expect(context.trace.description == TraceContextTests.trace)
        #expect(context.span.description == TraceContextTests.span)
        #expect(context.isSampled == isSampled && context.isRemote && context.state == nil)
        // As this code's own version has it.
        #expect(context.parent == "00-\(TraceContextTests.trace)-\(TraceContextTests.span)-\(isSampled ? "01" : "00")")
    }

    @Test(arguments: [
        "", "-", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        // The version that is none, and others that are no number.
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "000-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "FE-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        // No trace, no span.
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        // Too short, too long.
        "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e47361-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b71-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-011",
        // Upper case, and no digits.
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067AA0BA902B7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0A",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b.-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0é",
        // Other separators.
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01,00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        // More than version 00 has.
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what",
        // A later version, whose further parts must begin with a hyphen.
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
    ])
    func `what is malformed begins a new trace`(text: String) {
        #expect(TraceContext(parent: text, state: "a=b") == nil)
    }

    @Test(arguments: ["-", "-what-the-future-will-be-like"])
    func `a later version may have more parts`(more: String) {
        let text = "cc-\(TraceContextTests.trace)-\(TraceContextTests.span)-01\(more)"
        #expect(TraceContext(parent: text, state: nil) != nil)
    }

    private static let longKey = "k" + String(repeating: "y", count: 255)

    @Test(arguments: [
        ("congo=t61rcWkgMzE", "congo=t61rcWkgMzE"), ("a=1,b=2", "a=1,b=2"), ("a=1 , \tb=2\t", "a=1,b=2"),
        ("a=1,,b=2,", "a=1,b=2"), ("fw529a3039@dt=FfJFoh", "fw529a3039@dt=FfJFoh"), ("0a_-*/=x y", "0a_-*/=x y"),
        ("a=!\"#$%&'()*+-./:;<>?@[]^_`{|}~", "a=!\"#$%&'()*+-./:;<>?@[]^_`{|}~"), ("\(longKey)=1", "\(longKey)=1"),
        ((1...32).map { "k\($0)=1" }.joined(separator: ","), (1...32).map { "k\($0)=1" }.joined(separator: ",")),
    ])
    func `the state of others is passed on`(text: String, passedOn: String) {
        #expect(TraceState(text)?.text == passedOn)
    }

    @Test(arguments: [
        "", ",", " ", "a", "a=", "=1", "A=1", "-a=1", "a b=1", "a=1=2", "a=é", "a=1\u{7f}", "a=1,b", "\(longKey)y=1",
        "a=" + String(repeating: "x", count: 257), (1...33).map { "k\($0)=1" }.joined(separator: ","),
        (1...8).map { "k\($0)=" + String(repeating: "x", count: 64) }.joined(separator: ","),
    ])
    func `a state that is malformed or too long is left out, and the trace kept`(text: String) {
        let context = TraceContext(parent: "00-\(TraceContextTests.trace)-\(TraceContextTests.span)-01", state: text)
        #expect(context != nil && context?.state == nil)
    }
}
