internal import Foundation

/// How long the tests go on that repeat something: in `scripts/test` for their short form, in `scripts/test-release` for
/// a long one.
public enum Scale {
    /// How many times the work of the short form is to be done, about.
    public static let factor = ProcessInfo.processInfo.environment["COORDINATORD_TORTURE"].flatMap { Int($0) } ?? 1

    /// - Parameter long: how many rounds there are with the factor 10.
    public static func rounds(_ short: Int, long: Int) -> Int { factor == 1 ? short : long * factor / 10 }
}
