// libFuzzer for Swift. It comes with the compiler, which links it for `-sanitize=fuzzer`, but without a header.
#ifndef CLIBFUZZER_H
#define CLIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

/// Calls `check` with one input after the other, as the arguments say (llvm.org/docs/LibFuzzer.html), and ends the
/// process.
///
/// @param check borrows the bytes during the call, and returns 0.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*check)(const uint8_t *bytes, size_t count));

#endif
