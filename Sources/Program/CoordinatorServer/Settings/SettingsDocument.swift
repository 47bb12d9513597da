internal import ArgumentParser

extension Settings {
    /// The settings by their headings.
    fileprivate static var topics: [(title: String, rows: [SettingRow])] {
        Settings().parts.map { (($0 as? any SettingGroup).map { type(of: $0).title } ?? "", $0.rows) }
            .filter { !$0.1.isEmpty }
    }
}

/// The tables of `docs/settings.md`, as `config --markdown` prints them and `scripts/describe` writes them.
enum SettingsDocument {
    static var tables: String {
        let variables = OtherVariables.all.map { "| `\($0.0)` | \($0.1) |\n" }.joined()
        return Settings.topics.map { topic in
            """
            ## \(topic.title)

            | setting | value | default | what it is |
            |---|---|---|---|
            \(topic.rows.map(line).joined())

            """
        }.joined() + """
            ## Other variables

            | variable | what it is |
            |---|---|
            \(variables)
            """
    }

    private static func line(_ row: SettingRow) -> String {
        let variables = row.variables.map { "`\($0)`" }.joined(separator: ", ")
        let standard = row.standard.map { "`\($0)`" } ?? row.unset ?? "–"
        let cells = ["`\(row.key)`<br>\(variables)", row.form.description, standard, row.help]
        return "| \(cells.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ")) |\n"
    }
}

/// The manual page of the program, in the macros of man(7).
struct ManualPage<Server: NavigationServer> {
    var text: String {
        """
        .\\" Written by scripts/describe from Sources/Program/CoordinatorServer/Settings.
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
        \(Settings.topics.map(section).joined(separator: "\n"))
        .SH ENVIRONMENT
        Beside the variables of the settings:
        .TP
        .B \(OtherVariables.port)
        The port, if neither \\-\\-port nor \(Settings.Address().port.row.variable.roff) is given.
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

    private func section(_ title: String, _ rows: [SettingRow]) -> String {
        ([".SS \(title)"] + rows.map(entry)).joined(separator: "\n")
    }

    private func entry(_ row: SettingRow) -> String {
        let flag =
            row.kind == .flag
            ? ".BR \(row.flag.roff) , \("--no-\(row.name)".roff)" : ".BI \(row.flag.roff) \" \(row.form.word.roff)\""
        let bounds = row.bounds.map { " Write \($0)." } ?? ""
        let standard = row.defaultText.map { " Default: \($0)." } ?? ""
        return """
            .TP
            \(flag)
            \((row.help + bounds + standard).roff)
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

extension String {
    /// The text for troff: a dash stays one, and nothing is a request or an escape.
    fileprivate var roff: String {
        let text = replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("…", with: "...")
            .replacing("“", with: "\\(lq").replacing("”", with: "\\(rq").replacing("~", with: "\\(ti")
        return text.first.map { "'.".contains($0) } == true ? "\\&\(text)" : text
    }

    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
