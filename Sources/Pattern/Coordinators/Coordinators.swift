// Coordinators: the Coordinator pattern as values.
//
// An author's `Coordinator` decides, through a `Navigator`, what should happen; the engine (`App` and `TransitionRun`)
// performs it on a `NavigationState`: the tree of living coordinators, the stacks of screens, the alert. One event is
// one transition, applied whole or not at all.
//
// A transition is a pure function of state, event and time. This target knows no HTTP, no storage, no clock and no
// randomness: the caller passes the time in, and a counter in the state numbers the keys. The only memory outside the
// state is `FunctionConduct`: how long each function of a coordinator usually takes.
// Start reading at `App.begin`, then `TransitionRun.result`.

// Authors write parameters and defaults as JSON literals; one import has to be enough for that.
@_exported public import JSONCoding
