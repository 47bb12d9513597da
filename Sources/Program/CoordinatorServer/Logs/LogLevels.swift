internal import ArgumentParser
internal import ByteText
internal import Glibc
internal import Logging

extension SettingValues<Settings.Log> {
    /// Makes every logger of the process, also an author's, write as the settings say. Call once.
    ///
    /// - Parameter provider: adds to the entries of requests; `nil` if there is nothing to add.
    func format(of descriptor: CInt) -> LineLogHandler.Format {
        self.logFormat ?? (isatty(descriptor) == 1 ? .text : .json)
    }

    func install(_ provider: Logger.MetadataProvider?) {
        let format = format(of: STDERR_FILENO)
        let levels = self.logLevel
        LineOutput.standardError.setFormat(format)
        StandardError.setFormat(format)
        LoggingSystem.bootstrap(
            { label, provider in
                var handler = LineLogHandler(label: label, output: .standardError, format: format)
                handler.logLevel = levels.level(of: label)
                handler.metadataProvider = provider
                return handler
            }, metadataProvider: provider)
    }
}

/// The lowest level that is logged: in general, and for single loggers.
struct LogLevels: Equatable {
    static let names = Logger.Level.allCases.map(\.rawValue).formatted()

    let general: Logger.Level
    /// Levels by the label of a logger; that of `shop` holds for `shop.carts`, too.
    var own: [String: Logger.Level] = [:]

    func level(of label: String) -> Logger.Level {
        var part = label[...]
        while true {
            if let level = own[String(part)] { return level }
            guard let (parent, _) = part.cut(atLast: ".") else { return general }
            part = parent
        }
    }

    static func parse(_ text: String) throws -> LogLevels {
        var (general, own): (Logger.Level?, [String: Logger.Level]) = (nil, [:])
        for item in text.parts(at: ",") {
            let sides = item.parts(at: "=", limit: 2).map(String.init)
            guard let level = Logger.Level(rawValue: sides.last ?? "") else {
                throw ValidationError("“\(sides.last ?? "")” is no level; levels are \(names).")
            }
            if sides.count == 2 {
                guard !sides[0].isEmpty, own.updateValue(level, forKey: sides[0]) == nil else {
                    throw ValidationError("Give one level to each part: info,sessions=debug.")
                }
            } else {
                guard general == nil else { throw ValidationError("Give one level, and others to parts only.") }
                general = level
            }
        }
        return LogLevels(general: general ?? .info, own: own)
    }
}

extension [String] {
    /// “a, b or c”.
    fileprivate func formatted() -> String {
        count < 2 ? joined() : "\(dropLast().joined(separator: ", ")) or \(last ?? "")"
    }
}
