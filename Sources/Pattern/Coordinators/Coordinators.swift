// Coordinators: the Coordinator pattern as values.
//
// An author's `Coordinator` decides, through a `Navigator`, what should happen; the engine (`App` and `TransitionRun`)
// performs it on a `NavigationState`: the tree of living coordinators, the stacks of screens, the alert. One event is
// one transition, applied whole or not at all.
//
// Everything here is pure. It knows no HTTP, no storage, no clock and no randomness: the time is passed in, and keys are
// numbered by a counter in the state. What is remembered beside it is how functions have behaved (`FunctionConduct`).
// Start reading at `App.begin`, then `TransitionRun.result`.

// Authors write parameters and defaults as JSON literals; one import has to be enough for that.
@_exported public import JSONCoding
