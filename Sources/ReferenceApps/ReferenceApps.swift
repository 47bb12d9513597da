// ReferenceApps: the apps that prove the library, written as an author would write them: one folder each, nothing in
// them but coordinators. They know no server.

public import Coordinators

/// The apps that `coordinatord` hosts.
public enum ReferenceApps {
    /// The first is what a client gets that names none.
    public static let all = [Tabs.app]
}
