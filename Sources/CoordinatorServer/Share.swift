internal import ArgumentParser
internal import ByteText

/// Which part of many is wanted.
struct Share: Equatable {
    let percent: Double

    /// How it is written.
    static let form = "off, all, or a share such as 1%"

    @Sendable static func parse(_ text: String) throws -> Share {
        switch text {
        case "off": return Share(percent: 0)
        case "all": return Share(percent: 100)
        default:
            guard text.ends(with: "%"), let percent = Double(Substring(text.utf8.dropLast())),
                (0...100).contains(percent)
            else {
                throw ValidationError("“\(text)” is not \(form).")
            }
            return Share(percent: percent)
        }
    }
}
