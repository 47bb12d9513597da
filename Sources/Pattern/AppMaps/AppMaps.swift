// AppMaps: the screens of an app and the events that lead from one to another, found by trying them, and drawn.
//
// It asks the engine which events are possible and where they lead, and knows nothing of servers and sessions.
