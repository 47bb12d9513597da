// `Date`, for this target and those above it: on Apple's platforms the whole Foundation has it, elsewhere a small part.
#if canImport(FoundationEssentials)
    @_exported public import FoundationEssentials
#else
    @_exported public import Foundation
#endif
