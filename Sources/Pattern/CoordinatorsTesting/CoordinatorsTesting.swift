// CoordinatorsTesting: the tools with which authors test their coordinators. It runs the same engine as the server,
// without HTTP, and knows no test framework: tests read a tester's properties. It also finds the
// screens of an app by trying all events, and draws them as a map.
