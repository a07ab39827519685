# Native targets: the command line, the tests, the conformance runner, and with clang's sanitizers the fuzzers.
# QW_SANITIZE: empty, "address" (with UBSan, and coverage for libFuzzer) or "thread".
set(QW_SANITIZE "" CACHE STRING "address, thread or nothing")
find_package(Threads REQUIRED)

add_library(qw_options INTERFACE)
target_compile_definitions(qw_options INTERFACE QW_ASSERTIONS)
target_link_libraries(qw_options INTERFACE Threads::Threads)
if(QW_SANITIZE STREQUAL "address") # unrolled, with a check at each access, clang compiles it for the better part of a minute
    set_source_files_properties(src/model/attention.c PROPERTIES COMPILE_DEFINITIONS QW_ROLLED)
endif()
if(QW_SANITIZE STREQUAL "address")
    set(flags -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(qw_options INTERFACE ${flags} -fsanitize=fuzzer-no-link)
    target_link_options(qw_options INTERFACE ${flags})
elseif(QW_SANITIZE STREQUAL "thread")
    target_compile_options(qw_options INTERFACE -fsanitize=thread)
    target_link_options(qw_options INTERFACE -fsanitize=thread)
endif()

qw_add_core(native qw_options)

qw_add_program(qwen2 native "alloc;files" src/hosts/main.c)
qw_add_program(conformance native "alloc;files" ${QW_CONFORMANCE})
qw_add_program(format_probe native "alloc;files" ${QW_FORMAT_PROBE})

enable_testing()
foreach(name IN LISTS QW_TESTS)
    qw_add_program(test_${name} native "alloc_test;files" tests/c/test_${name}.c)
    target_link_libraries(test_${name} PRIVATE m) # the tests' own references; the library needs none
    add_test(NAME ${name} COMMAND test_${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300)
endforeach()

# The relaxed kernels under every reading of their operations that WebAssembly allows (src/base/simd_native.h).
set(relaxed_sources base/status base/number_text base/print base/pool
    kernels/dtype kernels/layout kernels/quant_iq kernels/quant kernels/panel kernels/kernel_float kernels/kernel_token kernels/kernel_tile kernels/activations kernels/kernel_choice kernels/matmul_scalar kernels/matmul)
list(TRANSFORM relaxed_sources PREPEND src/)
list(TRANSFORM relaxed_sources APPEND .c)
foreach(model 1 2 3)
    add_executable(test_relaxed_${model} ${relaxed_sources} tests/c/test_matmul.c)
    target_compile_definitions(test_relaxed_${model} PRIVATE QW_RELAXED_MODEL=${model})
    target_link_libraries(test_relaxed_${model} PRIVATE alloc_test_native m)
    add_test(NAME relaxed_${model} COMMAND test_relaxed_${model} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(relaxed_${model} PROPERTIES TIMEOUT 300)
endforeach()

if(QW_SANITIZE STREQUAL "address")
    foreach(name IN LISTS QW_FUZZERS)
        qw_add_program(fuzz_${name} native "alloc_test;files" tests/c/fuzz_${name}.c)
        target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    endforeach()
endif()
