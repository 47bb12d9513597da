internal import Glibc

/// The password of a new account, which no argument is: other users of the machine see arguments.
enum NewPassword {
    /// Asked for twice, unseen, where standard input is a terminal; else its first line.
    static func read() throws -> String {
        guard isatty(STDIN_FILENO) == 1 else { return try sound(readLine()) }
        let password = try sound(ask("Password: "))
        guard ask("Again: ") == password else { throw AccountRefusal("the two passwords differ") }
        return password
    }

    private static func sound(_ password: String?) throws -> String {
        guard let password, !password.isEmpty else { throw AccountRefusal("there is no password") }
        return password
    }

    /// - Returns: a line that the terminal does not show; `nil` at the end of input.
    private static func ask(_ question: String) -> String? {
        var settings = termios()
        tcgetattr(STDIN_FILENO, &settings)
        var unseen = settings
        unseen.c_lflag &= ~tcflag_t(ECHO)
        // What was typed before goes, for it was shown.
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &unseen)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
            write(STDERR_FILENO, "\n", 1)
        }
        write(STDERR_FILENO, question, question.utf8.count)
        return readLine()
    }
}
