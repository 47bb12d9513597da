internal import ArgumentParser
internal import CoordinatorServer
internal import Glibc
internal import ReferenceApps

/// `accounts`: manages who may sign in to `clean-login` and `shop`. A server that runs on the same directory sees the
/// changes at once.
struct AccountsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts", abstract: "Adds, lists, removes and backs up the accounts of clean-login and shop.",
        discussion: """
            Works while a server runs. Users who are signed in stay signed in, also when their account is removed: end \
            their sessions with `sessions end --user EMAIL`.
            """,
        subcommands: [Add.self, List.self, Remove.self, Backup.self])

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Adds an account.",
            discussion: """
                If standard input is a terminal, the command asks for the password; otherwise it is the first line of \
                standard input. To change a password, remove the account and add it again. An account that works only \
                with --development is replaced.
                """)
        @OptionGroup var directory: AccountsDirectory
        @Argument(help: "The account's email address.") var email: String

        func run() throws {
            guard try directory.open(creating: true).add(email: email, password: NewPassword.read()) else {
                throw ExitCode.cannotStart(1, "there is an account \(email) already")
            }
            print("added \(email)")
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the accounts' addresses, one per line.")
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
                throw ExitCode.cannotStart(1, "there is no account \(email)")
            }
            print("removed \(email)")
        }
    }

    struct Backup: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copies the accounts into a new file.",
            discussion: """
                A server may be running. To restore it, stop the server and put the copy in the place of \
                accounts.sqlite in its data directory.
                """)
        @OptionGroup var directory: AccountsDirectory
        @Argument(help: "The file to create. It must not exist yet.") var file: String

        func run() throws {
            let accounts = try directory.open()
            try NewFile.make(file) { try accounts.copy(to: $0) }
            let count = try accounts.accounts().count
            print("\(file): \(count) \(count == 1 ? "account" : "accounts")")
        }
    }
}

/// `--data-directory`.
struct AccountsDirectory: ParsableArguments {
    @OptionGroup var data: DataDirectoryOption

    private var file: String { Coordinatord.accountsFile(in: data.path) }

    /// - Parameter creating: whether the accounts' file is created if it does not exist.
    func open(creating: Bool = false) throws -> AccountStore {
        try DirectoryOwner.become(in: data.path)
        // If the directory cannot be searched, it is not known whether the file exists.
        guard creating || access(file, F_OK) == 0 || errno != ENOENT else {
            throw ExitCode.cannotStart(EX_NOINPUT, "there is no \(file); name its directory with --data-directory")
        }
        do {
            if creating { try Coordinatord.makeDirectory(data.path) }
            return try AccountStore(path: file)
        } catch {
            throw ExitCode.cannotUse(data.path, because: "\(error)")
        }
    }
}

/// The password of a new account. It is not an argument, because other users of the machine can see arguments.
enum NewPassword {
    /// If standard input is a terminal, asks twice, without echo; otherwise reads the first line of standard input.
    static func read() throws -> String {
        guard isatty(STDIN_FILENO) == 1 else { return try sound(readLine(), "no password was given on standard input") }
        let password = try sound(ask("Password: "), "no password was given")
        guard ask("Again: ") == password else { throw ExitCode.cannotStart(1, "the two passwords differ") }
        return password
    }

    private static func sound(_ password: String?, _ refusal: String) throws -> String {
        guard let password, !password.isEmpty else { throw ExitCode.cannotStart(1, refusal) }
        return password
    }

    /// - Returns: a line that the terminal does not echo; `nil` at the end of input.
    private static func ask(_ question: String) -> String? {
        var settings = termios()
        tcgetattr(STDIN_FILENO, &settings)
        var noEcho = settings
        noEcho.c_lflag &= ~tcflag_t(ECHO)
        // TCSAFLUSH discards what was typed before, because that was echoed.
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &noEcho)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
            write(STDERR_FILENO, "\n", 1)
        }
        write(STDERR_FILENO, question, question.utf8.count)
        return readLine()
    }
}
