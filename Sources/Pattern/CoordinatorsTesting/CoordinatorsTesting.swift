// CoordinatorsTesting: what authors test their coordinators with. It runs the same engine as the server, without HTTP,
// and knows no test framework: a test compares its properties. It also finds the screens of an app by trying all events, and
// draws them as a map.
