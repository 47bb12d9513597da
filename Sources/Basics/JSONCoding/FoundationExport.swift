// Exports `Date`, `Decimal`, `URL`, `UUID` and `Data` to this target and those above it: from FoundationEssentials
// where that exists, otherwise from the whole of Foundation, as on Apple's platforms.
#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
