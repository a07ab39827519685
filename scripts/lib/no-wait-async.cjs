// Loaded before the wasm tests: Node loses wake-ups of a main thread that waits idly by Atomics.waitAsync (3 of 7 runs of
// test_engine on threads stood still for ever, none of 12 without it), and Emscripten sends messages where it is not there.
delete (/** @type {any} */ (Atomics).waitAsync);
