internal import Foundation
public import Testing

/// How long the tests go on that repeat something: in `scripts/test` for their short form, in `scripts/test-release` for
/// a long one.
public enum Scale {
    /// How many times the work of the short form is to be done, about.
    public static let factor = given ?? 1

    /// Whether this is the long form; its factor may be 1.
    public static let isLong = given != nil

    private static let given = ProcessInfo.processInfo.environment["COORDINATORD_TORTURE"].flatMap { Int($0) }

    /// - Parameter long: how many rounds there are with the factor 10.
    public static func rounds(_ short: Int, long: Int) -> Int { factor == 1 ? short : long * factor / 10 }
}

extension Trait where Self == ConditionTrait {
    /// Not in `scripts/test`, which has another test of the same kind of fault, or a shorter one.
    public static var longForm: Self { .enabled(if: Scale.isLong, "scripts/test-release runs it") }
}
