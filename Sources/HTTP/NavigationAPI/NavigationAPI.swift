// NavigationAPI: what clients see. Routes, JSON bodies, problems: it turns requests into calls of a `SessionHost`, and
// their results into answers.
//
// It knows HTTP from `MicroHTTP` and sessions from `Sessions`; it stores nothing itself. `Route` lists the paths,
// `Problem` all errors, `StateBody` is a session's state as clients read it. Start reading at
// `NavigationHandler.postEvent`; `RequestChain` is what surrounds it.
