# Toolchain file of the wasm preset: emcc by way of scripts/emcc. Objects are linked directly, so no archiver is needed.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER ${CMAKE_CURRENT_LIST_DIR}/../scripts/emcc)
set(CMAKE_C_COMPILER_WORKS TRUE)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(EMSCRIPTEN TRUE)
