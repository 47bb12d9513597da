// AppMaps: the screens of an app and the events that lead from one to another, found by trying them, and drawn.
//
// It asks the engine what is possible and what comes of it, and knows nothing of servers and sessions.
