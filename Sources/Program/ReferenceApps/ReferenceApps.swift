// ReferenceApps: apps that use every part of the library, written as an author would write them, in a folder each; and
// the accounts that two of them sign in with. They do not know the server.

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
