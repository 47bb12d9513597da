internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc

/// Where the password of a database comes from, if not from libpq's own PGPASSWORD or password file.
struct PasswordOptions: ParsableArguments {
    /// The password itself.
    static let variable = Settings.storePassword.row.variable

    @Option(help: Settings.storePassword.help, transform: Settings.storePassword.parse)
    var storePasswordFile: String?

    /// The password; `nil` if libpq has to look for one.
    ///
    /// - Throws: an exit code, after printing the reason to standard error.
    func password() throws -> String? {
        guard let path = storePasswordFile else {
            return Settings.storePassword.row.secretInEnvironment
        }
        let bytes: [UInt8]
        do throws(SmallFile.Unreadable) { bytes = try SmallFile.bytes(of: path) } catch {
            throw ExitCode.cannotStart(EX_NOINPUT, "--store-password-file: \(error.reason)")
        }
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        // libpq would use what stands before a NUL.
        guard !line.isEmpty, !line.contains(0), let password = String(validating: line, as: UTF8.self) else {
            throw ExitCode.cannotStart(EX_NOINPUT, "--store-password-file: the first line of \(path) is no password")
        }
        return password
    }
}
