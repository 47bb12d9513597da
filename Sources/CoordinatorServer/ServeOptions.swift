internal import ArgumentParser

/// All settings, and the program's own options: what `serve` takes.
struct ServeOptions<Server: NavigationServer>: ParsableArguments {
    @OptionGroup(title: SettingTopic.address.rawValue) var address: AddressOptions

    @OptionGroup(title: SettingTopic.connections.rawValue) var connections: ConnectionOptions

    @OptionGroup(title: SettingTopic.clients.rawValue) var clients: ClientOptions

    @OptionGroup(title: SettingTopic.store.rawValue) var storage: StorageOptions

    @OptionGroup(title: SettingTopic.sessions.rawValue) var lifetimes: LifetimeOptions

    @OptionGroup(title: SettingTopic.sessions.rawValue) var limits: SessionLimitOptions

    @OptionGroup(title: SettingTopic.apps.rawValue) var apps: AppOptions

    @OptionGroup(title: SettingTopic.metrics.rawValue) var admin: AdminOptions

    @OptionGroup(title: SettingTopic.traces.rawValue) var traces: TraceOptions

    @OptionGroup(title: SettingTopic.log.rawValue) var log: LogOptions

    @OptionGroup(title: SettingTopic.console.rawValue) var console: ConsoleOptions

    @OptionGroup(title: SettingTopic.configuration.rawValue) var config: ConfigOptions

    @OptionGroup(title: "Options of the apps") var own: Server.Options
}
