internal import ArgumentParser

/// An amount of memory or storage as it is given on the command line: a number and a unit, powers of 1024.
struct ByteSize: ExpressibleByArgument, Equatable {
    private static let units: [Character: Int] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]

    let bytes: Int

    init?(argument: String) {
        guard let last = argument.last, let unit = ByteSize.units[last], let number = Int(argument.dropLast()),
            number > 0
        else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow else { return nil }
        self.bytes = bytes
    }
}
