public import JSONCoding

// How clients and the history receive a transition.

extension Transition: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object { $0.encoded(encodedMembers) }
    }
}

extension Operation: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        let (name, key): (StaticString, String) =
            switch self {
            case .push(let key, _): ("push", key)
            case .pop(let key, _): ("pop", key)
            case .replace(let key, _, _): ("replace", key)
            case .update(let key): ("update", key)
            case .present(let key, _): ("present", key)
            case .dismiss(let key): ("dismiss", key)
            case .selectTab(let key, _): ("selectTab", key)
            case .alert(let key): ("alert", key)
            case .dismissAlert(let key): ("dismissAlert", key)
            }
        writer.object { writer in
            writer.member("op", word: name)
            writer.member("key", key)
            switch self {
            case .selectTab(_, let tab): writer.member("tab", tab)
            case .push(_, let stack), .pop(_, let stack): writer.member("stack", stack)
            case .replace(_, let replaced, let stack):
                writer.member("replaced", replaced)
                writer.member("stack", stack)
            case .present(_, let style): writer.member("style", style.rawValue)
            default: break
            }
        }
    }
}
