internal import Glibc

/// The password of a new account. It is not an argument, because other users of the machine can see arguments.
enum NewPassword {
    /// If standard input is a terminal, asks twice, without echo; otherwise reads the first line of standard input.
    static func read() throws -> String {
        guard isatty(STDIN_FILENO) == 1 else { return try sound(readLine(), "no password was given on standard input") }
        let password = try sound(ask("Password: "), "no password was given")
        guard ask("Again: ") == password else { throw AccountRefusal("the two passwords differ") }
        return password
    }

    private static func sound(_ password: String?, _ refusal: String) throws -> String {
        guard let password, !password.isEmpty else { throw AccountRefusal(refusal) }
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
