internal import ArgumentParser
internal import Sessions

/// How many sessions there may be, and what one of them may use.
struct SessionLimitOptions: ParsableArguments {
    @Option(help: Settings.liveSessions.help, transform: Settings.liveSessions.parse)
    var liveSessions = Settings.liveSessions.standard

    @Option(help: Settings.liveMemory.help, transform: Settings.liveMemory.parse)
    var liveMemory: ByteSize?

    @Option(help: Settings.sessions.help, transform: Settings.sessions.parse)
    var sessions = Settings.sessions.standard

    @Option(help: Settings.watchers.help, transform: Settings.watchers.parse)
    var watchers = Settings.watchers.standard

    @Option(help: Settings.eventsPerSecond.help, transform: Settings.eventsPerSecond.parse)
    var eventsPerSecond = Settings.eventsPerSecond.standard

    func apply(to settings: inout SessionSettings) {
        settings.liveLimit = liveSessions
        settings.liveMemory = liveMemory?.bytes ?? MachineMemory.size / 4
        settings.sessionLimit = sessions
        settings.watcherLimit = watchers
        settings.eventRate = eventsPerSecond
    }
}
