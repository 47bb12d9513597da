internal import JSONCoding
internal import Tracing

/// Ended spans that are sent together.
struct SpanBatch {
    /// Each as JSON, separated by commas.
    private(set) var text: [UInt8] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var bytes: Int { text.count }

    mutating func append(_ span: [UInt8]) {
        if !isEmpty { text.append(UInt8(ascii: ",")) }
        text += span
        count += 1
    }

    mutating func append(_ later: SpanBatch) {
        guard !later.isEmpty else { return }
        append(later.text)
        count += later.count - 1
    }

    /// An `ExportTraceServiceRequest`, see `opentelemetry/proto/collector/trace/v1/trace_service.proto`.
    ///
    /// - Parameter resource: the program that made the spans.
    func request(of resource: SpanResource) -> [UInt8] {
        JSONWriter.bytes(capacity: text.count + 1024) { writer in
            writer.object { writer in
                writer.name("resourceSpans")
                writer.array { writer in
                    writer.object { writer in
                        writer.name("resource")
                        writer.object { writer in
                            writer.member("attributes", objects: resource.attributes) {
                                $0.attribute($1.name, .string($1.value))
                            }
                        }
                        writer.name("scopeSpans")
                        writer.array { writer in
                            writer.object { writer in
                                writer.name("scope")
                                writer.object { writer in writer.member("name", "coordinatord") }
                                writer.name("spans")
                                writer.array { writer in writer.encoded(text) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The program that makes spans, as attributes with OpenTelemetry's names.
public struct SpanResource: Sendable {
    let attributes: [(name: String, value: String)]

    /// - Parameters:
    ///   - service: the name that all servers of a kind share.
    ///   - version: the service's.
    ///   - instance: different for each process.
    ///   - library: this package's version.
    public init(service: String, version: String, instance: String, library: String) {
        attributes = [
            ("service.name", service), ("service.version", version), ("service.instance.id", instance),
            ("telemetry.sdk.name", "coordinatord"), ("telemetry.sdk.language", "swift"),
            ("telemetry.sdk.version", library),
        ]
    }
}
