// ReferenceApps: apps that use every part of the library, written as an author would write them, in a folder each; and
// the accounts that two of them sign in with. They do not know the server.

public import Coordinators

/// The apps that `coordinatord` hosts.
public enum ReferenceApps {
    /// The first one is the default, for a client that names none.
    ///
    /// - Parameters:
    ///   - accounts: the accounts that `clean-login` and `shop` sign in with.
    ///   - latency: how long the services in memory take, which stand for other systems.
    public static func all(accounts: any LoginRepository, latency: Duration = .milliseconds(400)) -> [App] {
        let airport = AirportInMemory(latency: latency)
        return [
            Tabs.app, LoginHome.app, LoginHomeDelegate.app, ListDetail.app(ForgetfulItemStore(latency: latency)),
            Main.app, CleanLogin.app(accounts),
            Shop.app(
                accounts, payments: PaymentsInMemory(latency: latency), catalog: CatalogInMemory(latency: latency)),
            Numbers.app, Kiosk.app(airline: airport, terminal: airport),
        ]
    }
}
