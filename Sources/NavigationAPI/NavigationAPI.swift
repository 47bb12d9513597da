// NavigationAPI: what clients see. Routes, JSON bodies, problems: it turns requests into calls of a `SessionHost`, and
// what comes of them into answers.
//
// It knows HTTP from `MicroHTTP` and sessions from `Sessions`; it keeps nothing of its own. `Route` lists the paths,
// `Problem` every way to fail, `StateBody` is a session's state as clients read it.
