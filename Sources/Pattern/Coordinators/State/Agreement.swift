package import JSONCoding

/// What an alert of `shouldLeave` is about, beside the event: the user agrees to this and to nothing else.
struct Question: Sendable, Equatable {
    /// The keys of the screens that may be left, with those of earlier questions about the same event.
    let screens: [String]
    /// The number of the device that posted the event.
    let device: Int
    /// Stands for the event's payload, which is not kept; `nil` if there is none.
    let payload: Int?
}

/// An event that the user has agreed to: if it is posted next, it may leave the screens of the question.
package struct Agreement: Sendable, Equatable {
    /// The event's type.
    package let event: String
    /// `nil` if it was saved before agreements had one: then any payload, device and screen is meant.
    let question: Question?
}

extension NavigationState {
    /// The key of what a client shows on top: that of the alert, otherwise that of the visible screen.
    var shownKey: String? { alert?.key ?? visible?.key }
}

extension App {
    /// A checksum of an event's payload without its secrets, the same for every order of members.
    func checksum(of event: PostedEvent) -> Int? {
        guard var payload = event.payload else { return nil }
        for type in types {
            for shape in type.events
            where shape.name == event.type || aliases[event.type]?.contains(shape.number) == true {
                payload = shape.withoutSecrets(payload)
            }
        }
        var hash: UInt32 = 0x811C_9DC5
        for byte in JSONWriter.bytes(capacity: 256, { $0.value(payload.ordered) }) {
            hash = (hash ^ UInt32(byte)) &* 0x0100_0193
        }
        return Int(hash)
    }
}

extension JSON {
    /// The same value with the members of all objects in alphabetical order.
    fileprivate var ordered: JSON {
        switch self {
        case .object(let object):
            .object(JSONObject(object.members.sorted { $0.name < $1.name }.map { ($0.name, $0.value.ordered) }))
        case .array(let elements): .array(elements.map(\.ordered))
        default: self
        }
    }
}

// How both are saved: `{"event":"edit","screens":["k3"],"device":1,"payload":2166136261}`.

extension Question {
    init?(saved json: JSON?) throws(JSONDecodingError) {
        guard let json, json["screens"] != nil else { return nil }
        screens = try json.member("screens")
        device = try json.count("device")
        payload = try json.count(ifAny: "payload")
    }

    func save(to writer: inout JSONWriter) {
        writer.member("screens", screens)
        writer.member("device", device)
        writer.member("payload", ifAny: payload)
    }
}

extension Agreement {
    init?(saved state: JSON) throws(JSONDecodingError) {
        if let agreement = state["agreement"] {
            self.init(event: try agreement.member("event"), question: try Question(saved: agreement))
        } else if let event: String = try state.member(ifAny: "agreedEvent") {
            self.init(event: event, question: nil)
        } else {
            return nil
        }
    }

    func save(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("event", event)
            question?.save(to: &writer)
        }
    }

    /// For comparing states.
    package var json: JSON { (try? JSON(parsing: JSONWriter.bytes(capacity: 64) { save(to: &$0) })) ?? .null }
}
