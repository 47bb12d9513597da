// ReferenceApps: the apps that prove the library, written as an author would write them: one folder each, nothing in
// them but coordinators, and the accounts that two of them sign in against. They know no server.

public import Coordinators

/// The apps that `coordinatord` hosts.
public enum ReferenceApps {
    /// The first is what a client gets that names none.
    ///
    /// - Parameter accounts: what `clean-login` and `shop` sign in against.
    public static func all(accounts: any LoginRepository) -> [App] {
        [
            Tabs.app, LoginHome.app, LoginHomeDelegate.app, ListDetail.app, Main.app, CleanLogin.app(accounts),
            Shop.app(accounts), Numbers.app,
        ]
    }
}
