// ReferenceApps: the apps that prove the library, written as an author would write them: one folder each, with nothing
// but coordinators, and the accounts that two of them sign in with. They know no server.

public import Coordinators

/// The apps that `coordinatord` hosts.
public enum ReferenceApps {
    /// The first one is the default, for a client that names none.
    ///
    /// - Parameter accounts: the accounts that `clean-login` and `shop` sign in with.
    public static func all(accounts: any LoginRepository) -> [App] {
        [
            Tabs.app, LoginHome.app, LoginHomeDelegate.app, ListDetail.app, Main.app, CleanLogin.app(accounts),
            Shop.app(accounts), Numbers.app,
        ]
    }
}
