internal import ArgumentParser
internal import CoordinatorServer
internal import Glibc
internal import ReferenceApps

/// `accounts`: who may sign in to `clean-login` and `shop`. A server at work on the same directory takes notice at once.
struct AccountsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts", abstract: "Adds, lists and removes the accounts of clean-login and shop.",
        discussion: "Also while a server runs. Who is signed in stays so: sessions know no accounts.",
        subcommands: [Add.self, List.self, Remove.self])

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Adds an account.",
            discussion: """
                The password is asked for where standard input is a terminal, else it is the first line of standard \
                input. To change one, remove the account and add it again.
                """)
        @OptionGroup var directory: AccountsDirectory
        @Argument(help: "The account's email address.") var email: String

        func run() throws {
            guard try directory.make().add(email: email, password: NewPassword.read()) else {
                throw AccountRefusal("there is an account \(email) already")
            }
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the accounts' addresses, one a line.")
        @OptionGroup var directory: AccountsDirectory

        func run() throws {
            for account in try directory.open().accounts() {
                print(account.isDevelopment ? "\(account.email) (in development only)" : account.email)
            }
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Removes an account.")
        @OptionGroup var directory: AccountsDirectory
        @Argument(help: "The account's email address.") var email: String

        func run() throws {
            guard try directory.open().remove(email: email) else {
                throw AccountRefusal("there is no account \(email)")
            }
        }
    }
}

/// `--data-directory`.
struct AccountsDirectory: ParsableArguments {
    @Option(help: "The directory that the server's apps keep their data in.")
    var dataDirectory = "data"

    private var file: String { Coordinatord.accountsFile(in: dataDirectory) }

    /// The accounts that are there.
    func open() throws -> AccountStore {
        // A directory that cannot be searched says nothing about what is in it.
        guard access(file, F_OK) == 0 || errno != ENOENT else { throw AccountRefusal("there is no \(file)") }
        do { return try AccountStore(path: file) } catch {
            throw ExitCode.cannotUse(dataDirectory, because: "\(error)")
        }
    }

    /// The same, made where there are none.
    func make() throws -> AccountStore {
        do {
            try Coordinatord.makeDirectory(dataDirectory)
            return try AccountStore(path: file)
        } catch {
            throw ExitCode.cannotUse(dataDirectory, because: "\(error)")
        }
    }
}

/// Why nothing was done. Printed as “Error: …”, with exit code 1.
struct AccountRefusal: Error, CustomStringConvertible {
    let description: String

    init(_ reason: String) { description = reason }
}
