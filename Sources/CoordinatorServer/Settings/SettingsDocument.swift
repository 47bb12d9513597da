public import ArgumentParser

/// `docs/settings.md`, as `config --markdown` prints it and `scripts/describe` writes it.
enum SettingsDocument {
    static var text: String {
        introduction + SettingTopic.allCases.map(section).joined() + conclusion
    }

    private static func section(_ topic: SettingTopic) -> String {
        let rows = Settings.all.filter { $0.topic == topic }
        return """

            ## \(topic.rawValue)

            | setting | value | default | what it is |
            |---|---|---|---|

            """ + rows.map(line).joined()
    }

    private static func line(_ row: SettingRow) -> String {
        let standard =
            switch row.standard {
            case .text(let text): "`\(text)`"
            case .described(let text): text
            case .none: "–"
            }
        let variables = row.variables.map { "`\($0)`" }.joined(separator: ", ")
        let cells = ["`\(row.key)`<br>\(variables)", row.form.description, standard, row.help]
        return "| \(cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ")) |\n"
    }

    private static let introduction = """
        # Settings

        <!-- Written by scripts/describe from Sources/CoordinatorServer/Settings. -->

        `coordinatord serve` takes every setting from the first of these places that has it:

        1. a flag: `--idle-expiry 12h`
        2. the environment: `COORDINATORD_IDLE_EXPIRY=12h`
        3. the file that `--config FILE` or `COORDINATORD_CONFIG` names: `{"idle-expiry": "12h"}`
        4. the default

        `check`, `sessions`, `backup`, `restore`, `migrate` and `accounts` have some of the settings, and take them from the
        same places: with `COORDINATORD_STORE` set, `coordinatord sessions list` needs no `--store`. `coordinatord config`
        prints each setting with its value and where it comes from.

        ```console
        $ COORDINATORD_STORE=memory coordinatord config --port 9000 | head -n 3
        SETTING                  VALUE      ORIGIN
        host                     127.0.0.1  default
        port                     9000       flag --port
        ```

        ## Rules

        - **Sizes.** \(ByteSize.form)
        - **Times.** \(Span.form)
        - **True or false**: `--console` or `--no-console` as a flag, `true` or `false` elsewhere.
        - **Several values**: the flag several times, commas in the environment, an array of strings in a file. A place
          that has the setting replaces the places after it; lists are not joined.
        - **Empty**: an empty variable counts as one that is not set. Anywhere else an empty value is an error. In a file,
          `[]` is a list without elements.
        - **Secrets** are never flags, nor members of a file: their file is, which keeps them out of lists of processes and
          out of repositories. `--store-password-file FILE`, `COORDINATORD_STORE_PASSWORD_FILE=FILE` and
          `"store-password-file": "FILE"` name a file, `COORDINATORD_STORE_PASSWORD` has the secret itself. If the
          environment has both, that is an error.
        - **Mistakes** end the command with exit code 64, and standard error says where each is and which name was probably
          meant: an unknown name in the file, an unknown variable that begins with `COORDINATORD_`, a value that is not in
          the form below, a setting that another one leaves without effect. The last is accepted if a place of higher
          precedence has changed the other setting: `--store memory` works beside `COORDINATORD_STORE_PASSWORD`. A value
          that may hold a secret is never repeated. A file that cannot be read: exit code 66.
        - **`PORT`**, which platforms set, is the port if `--port` and `COORDINATORD_PORT` are not given.

        A file is one JSON object (RFC 8259) of at most \(ByteSize(64 << 10)), without nesting. Numbers are JSON numbers,
        true and false are those of JSON, everything else is a string; a size may also be a number of bytes.

        ```json
        {
          "host": "0.0.0.0",
          "store": "postgresql://coordinatord@db.example/sessions",
          "store-password-file": "/run/secrets/database",
          "trusted-proxy": ["10.0.0.0/8"],
          "body-size": "128K",
          "live-sessions": 50000
        }
        ```

        `coordinatord config --check FILE` says what a file would change against the present settings, before it is used: give
        it the flags, the environment and the `--config` that the server has. It exits with 64 if the file is wrong.

        The image has `COORDINATORD_CONFIG=/etc/coordinatord.json`, a file with `"host": "0.0.0.0"`, `"store": "sqlite:/data"` and
        `"data-directory": "/data"`: variables of the container and arguments override each of them. A file of your own, mounted
        in its place, says all three itself.

        A server reads its settings when it starts. To change them, start it again: sessions continue.

        """

    private static var conclusion: String {
        """

        ## Other variables

        | variable | what it is |
        |---|---|
        \(OtherVariables.all.map { "| `\($0.0)` | \($0.1) |" }.joined(separator: "\n"))

        Kubernetes sets variables such as `COORDINATORD_SERVICE_HOST` and `COORDINATORD_PORT=tcp://10.0.0.1:80` in pods beside
        a service whose name begins with `coordinatord`: they are ignored. libpq and jemalloc read their own variables, such as
        `PGPASSWORD`, `PGSSLMODE` and `MALLOC_CONF`.

        ## Programs of authors

        A program with apps of its own has the same settings under the same names, whatever the program is called: the prefix
        is `COORDINATORD_`. The `Options` of its `NavigationServer` are flags only, with names and defaults of their own. A
        command in its `commands` that conforms to `SettingsCommand` takes the settings that it names, such as
        `data-directory`, from all places, too.

        ## Completions and the manual page

        ```console
        $ coordinatord --generate-completion-script bash > ~/.local/share/bash-completion/completions/coordinatord
        $ coordinatord --generate-completion-script zsh > ~/.zsh/_coordinatord
        $ coordinatord --generate-completion-script fish > ~/.config/fish/completions/coordinatord.fish
        $ coordinatord config --man > /usr/local/share/man/man8/coordinatord.8
        ```

        """
    }
}

/// The manual page of the program, in the macros of man(7).
struct ManualPage<Server: NavigationServer> {
    var text: String {
        """
        .\\" Written by scripts/describe from Sources/CoordinatorServer/Settings.
        .TH \(Server.name.uppercased().roff) 8 "" "\(Server.announcement.roff)" "System Manager's Manual"
        .SH NAME
        \(Server.name.roff) \\- holds navigation state per client session, and serves it over HTTP
        .SH SYNOPSIS
        .B \(Server.name.roff) serve
        .RI [ flags ]
        .br
        .B \(Server.name.roff)
        .I command
        .RI [ flags ]
        .SH DESCRIPTION
        .B serve
        serves until SIGTERM or Ctrl\\-C, then drains and exits with 0. The other commands work on its store, its settings and
        its apps;
        .B \(Server.name.roff) help
        .I command
        describes each.
        .SH COMMANDS
        \(commands)
        .SH SETTINGS
        A setting is taken from the first place that has it: a flag; the environment; the file that
        .B \\-\\-config
        names, a JSON object whose names are the flags without \\-\\-; the default. An empty variable counts as one that is not
        set. Lists are separated by commas in the environment, and arrays in the file.
        \(ByteSize.form.roff)
        \(Span.form.roff)
        .PP
        .B \(Server.name.roff) config
        prints each setting with its value and its origin.
        \(SettingTopic.allCases.map(section).joined(separator: "\n"))
        .SH ENVIRONMENT
        Beside the variables of the settings:
        .TP
        .B \(OtherVariables.port)
        The port, if neither \\-\\-port nor \(Settings.port.row.variable.roff) is given.
        .TP
        .B \(AddressFile.variable.roff)
        \(OtherVariables.all[0].1.capitalizedFirst.roff).
        .SH EXIT STATUS
        \(codes)
        .SH SIGNALS
        SIGTERM, SIGINT, SIGHUP and SIGQUIT drain the server. SIGINT during a drain ends it.

        """
    }

    private var commands: String {
        ServerCommand<Server>.configuration.subcommands.map { command in
            ".TP\n.B \(command._commandName.roff)\n\(command.configuration.abstract.roff)"
        }.joined(separator: "\n")
    }

    private func section(_ topic: SettingTopic) -> String {
        let rows = Settings.all.filter { $0.topic == topic }
        return ([".SS \(topic.rawValue)"] + rows.map(entry)).joined(separator: "\n")
    }

    private func entry(_ row: SettingRow) -> String {
        let flag =
            row.kind == .flag
            ? ".BR \(row.flag.roff) , \("--no-\(row.name)".roff)" : ".BI \(row.flag.roff) \" \(row.word.roff)\""
        let standard = row.standardText.map { " Default: \($0)." } ?? ""
        return """
            .TP
            \(flag)
            \((row.help + standard).roff)
            .br
            Environment: \(row.variables.joined(separator: ", ").roff)
            """
    }

    private var codes: String {
        [
            (0, "Done."), (1, "The command has something to report, such as damage."),
            (64, "A wrong command, flag, variable, or member of the file with settings."),
            (65, "A store or a token that is damaged or not in its form."), (66, "A file or a store that is missing."),
            (69, "An address or a store that cannot be used now."), (70, "A mistake in an app."),
            (71, "The HTTP library found its own state broken."), (73, "A file or a store that cannot be created."),
            (74, "The store failed."), (77, "The database refuses the role."),
            (78, "A directory, an app or a database server that cannot be used so."), (130, "Ctrl-C during a drain."),
        ].map { ".TP\n.B \($0.0)\n\($0.1.roff)" }.joined(separator: "\n")
    }
}

extension SettingRow {
    fileprivate var word: String { kind == .secret ? "file" : form.word }
}

extension String {
    /// The text for troff: a dash stays one, and nothing is a request or an escape.
    fileprivate var roff: String {
        let text = replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("…", with: "...")
            .replacing("“", with: "\\(lq").replacing("”", with: "\\(rq").replacing("~", with: "\\(ti")
        return text.first.map { "'.".contains($0) } == true ? "\\&\(text)" : text
    }

    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

/// A command that has some of the server's settings as options. What its command line leaves out comes from the
/// environment, a file or the defaults, as for `serve`.
///
/// The option's name and type are the setting's: `@Option var dataDirectory = "data"` for `data-directory`.
public protocol SettingsCommand: ParsableCommand {
    /// The names of the settings, as in `docs/settings.md`.
    static var settings: [String] { get }
}

extension SettingsCommand {
    /// For a command that takes a file with settings and has a stored store.
    static var storeSettings: [String] {
        [Settings.store.row.name, Settings.storePassword.row.name, Settings.config.row.name]
    }
}

extension ServerCommand {
    /// Runs the command line, completed with the settings of the other layers.
    @concurrent
    static func main(_ arguments: [String], environment: [String: String]) async {
        let (depth, command) = commandNamed(arguments[...])
        // Help is there even if the environment is wrong.
        let questions = ["--help", "-h", "-help", "--version", "--help-hidden"]
        guard let command, !arguments.contains(where: questions.contains) else { return await main(arguments) }
        let own = arguments[depth...]
        do throws(SettingFailure) {
            let resolution = try SettingResolution(of: command.settings, arguments: own, environment: environment)
            let completed = arguments[..<depth] + resolution.arguments + own
            await SettingResolution.$current.withValue(resolution) { await main(Array(completed)) }
        } catch {
            exit(withError: ExitCode.cannotUse(error))
        }
    }

    /// - Returns: how many words name the subcommand, and the subcommand if it has settings.
    private static func commandNamed(_ words: ArraySlice<String>) -> (depth: Int, (any SettingsCommand.Type)?) {
        var command: any ParsableCommand.Type = self
        var depth = 0
        while let word = words.dropFirst(depth).first,
            let next = command.configuration.subcommands.first(where: { $0._commandName == word })
        {
            command = next
            depth += 1
        }
        return (depth, command as? any SettingsCommand.Type)
    }
}
