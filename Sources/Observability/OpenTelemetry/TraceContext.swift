public import Tracing

/// The place of a span in its trace, as requests carry it.
///
/// Source: W3C Trace Context, https://www.w3.org/TR/trace-context/.
public struct TraceContext: Sendable, Equatable {
    public let trace: TraceID
    public let span: SpanID
    /// Whether the trace is recorded.
    public let isSampled: Bool
    /// `tracestate`: what other tracing systems pass along with the trace; `nil` if there is none.
    public let state: TraceState?
    /// Whether the span is another process's.
    let isRemote: Bool

    init(trace: TraceID, span: SpanID, isSampled: Bool, state: TraceState? = nil, isRemote: Bool = false) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
        self.state = state
        self.isRemote = isRemote
    }

    /// The caller's span, from the fields of its request.
    ///
    /// Of a version newer than 00, only the parts that version 00 has are read (section 3.2.2).
    ///
    /// - Parameters:
    ///   - parent: `traceparent`.
    ///   - state: all fields `tracestate`, joined by commas. It is ignored if it is malformed.
    /// - Returns: `nil` if `traceparent` is malformed: the request begins a new trace.
    public init?(parent: String, state: String?) {
        let bytes = Array(parent.utf8)
        guard bytes.count >= TraceContext.length, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let version = UInt64(hexadecimal: bytes[0..<2]), version != 0xFF,
            bytes.count == TraceContext.length
                || (version > 0 && bytes[TraceContext.length] == UInt8(ascii: "-")),
            let trace = TraceID(bytes[3..<35]), let span = SpanID(bytes[36..<52]),
            let flags = UInt64(hexadecimal: bytes[53..<55])
        else { return nil }
        self.init(
            trace: trace, span: span, isSampled: flags & 1 == 1, state: state.flatMap { TraceState($0) },
            isRemote: true)
    }

    /// In bytes, of version 00.
    private static let length = 55

    /// The value of `traceparent`.
    public var parent: String { "00-\(trace)-\(span)-\(isSampled ? "01" : "00")" }
}

/// Identifies a trace: 128 bits, not all 0. 32 hexadecimal digits as text.
public struct TraceID: Sendable, Hashable, CustomStringConvertible {
    private let high: UInt64
    /// Random even in the ids of systems that put a time into `high`.
    let low: UInt64

    /// A new one.
    init() {
        high = .random(in: 1 ... .max)
        low = .random(in: 1 ... .max)
    }

    fileprivate init?(_ digits: ArraySlice<UInt8>) {
        guard let high = UInt64(hexadecimal: digits.prefix(16)), let low = UInt64(hexadecimal: digits.dropFirst(16)),
            high != 0 || low != 0
        else { return nil }
        (self.high, self.low) = (high, low)
    }

    public var description: String { high.hexadecimal + low.hexadecimal }
}

/// Identifies a span within its trace: 64 bits, not all 0. 16 hexadecimal digits as text.
public struct SpanID: Sendable, Hashable, CustomStringConvertible {
    private let bits: UInt64

    /// A new one.
    init() { bits = .random(in: 1 ... .max) }

    fileprivate init?(_ digits: ArraySlice<UInt8>) {
        guard let bits = UInt64(hexadecimal: digits), bits != 0 else { return nil }
        self.bits = bits
    }

    public var description: String { bits.hexadecimal }
}

extension InstrumentationContext {
    private enum TraceKey: InstrumentationContextKey { typealias Value = TraceContext }

    /// The current span; `nil` outside a trace.
    public internal(set) var trace: TraceContext? {
        get { self[TraceKey.self] }
        set { self[TraceKey.self] = newValue }
    }
}

extension UInt64 {
    /// - Parameter digits: at most 16, in lower case, as the W3C demands.
    fileprivate init?(hexadecimal digits: ArraySlice<UInt8>) {
        var value: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        self = value
    }

    /// 16 digits.
    fileprivate var hexadecimal: String {
        String(unsafeUninitializedCapacity: 16) { digits in
            for index in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: self >> UInt64(60 - 4 * index) & 0xF)
                digits[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return 16
        }
    }
}
