/// Where a path stops fitting a pattern, and why.
struct LinkMismatch: Error {
    enum Fault {
        case tooShort, tooLong
        /// The next segment is not the pattern's.
        case different
        /// The next segment is not of the parameter's type.
        case segment(LinkPattern.ParameterType)
        /// All segments fit; the value of this query parameter is not of its type.
        case query(name: String, LinkPattern.ParameterType)
    }

    /// How many segments fit, from the first.
    let fitting: Int
    let fault: Fault

    /// A sentence for the client's developer. Contains nothing of the path.
    func sentence(_ pattern: LinkPattern) -> String {
        let next = "its segment \(fitting + 1)"
        return switch fault {
        case .tooShort: "The link begins like “\(pattern)”, but has too few segments."
        case .tooLong: "The link begins like “\(pattern)”, but has too many segments."
        case .different: "The link begins like “\(pattern)”, but \(next) differs."
        case .segment(let type): "The link begins like “\(pattern)”, but \(next) is not \(type.noun)."
        case .query(let name, let type):
            "The link's path fits “\(pattern)”, but its query parameter “\(name)” is not \(type.noun)."
        }
    }
}

extension LinkPattern.ParameterType {
    fileprivate var noun: String {
        switch self {
        case .string: "valid text"
        case .integer: "an integer"
        case .number: "a number"
        case .boolean: "true or false"
        }
    }
}
