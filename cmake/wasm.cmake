# Wasm targets: the four builds that ship (bin/), and the C tests and the conformance runner for Node (../wasm-tests/).
# A build's name is its file name's ending: "", "-threads", "-relaxed", "-threads-relaxed".

# No system header in the dependency files: those of a Debian 13 root do not exist outside of it.
set(CMAKE_DEPFILE_FLAGS_C "-MMD -MT <DEP_TARGET> -MF <DEP_FILE>")

# The worker's JavaScript is bundled from the glue of the threads build and serves all four. That holds while names of
# imports and exports are not shortened, which linking at -O2 leaves alone (-O3 would not): code is still made at -O3.
set(QW_WASM_LINK -O2 -mbulk-memory --no-entry -sMODULARIZE -sEXPORT_NAME=createQwen2 -sENVIRONMENT=worker -sDYNAMIC_EXECUTION=0
    -sIMPORTED_MEMORY -sALLOW_MEMORY_GROWTH -sINITIAL_MEMORY=2MB -sMAXIMUM_MEMORY=4GB -sFILESYSTEM=0
    -sMALLOC=emmalloc -sDEFAULT_TO_CXX=0 -sSTACK_SIZE=256KB -Wno-pthreads-mem-growth)
set(QW_WASM_TEST_LINK -O1 -sENVIRONMENT=node,worker -sNODERAWFS -sEXIT_RUNTIME -sALLOW_MEMORY_GROWTH
    -sMAXIMUM_MEMORY=4GB -sMALLOC=emmalloc -sDEFAULT_TO_CXX=0 -sSTACK_SIZE=256KB -sSTACK_OVERFLOW_CHECK=2
    -Wno-pthreads-mem-growth)
set(QW_WASM_THREAD_STACK -sDEFAULT_PTHREAD_STACK_SIZE=128KB)

# A page downloads this: only what weights and tokens pass through is compiled for speed, the rest for size. Loops that
# are written in vectors gain nothing from more than -Os.
set(QW_FAST kernels/kernel_token kernels/kernel_tile kernels/activations)
set(QW_QUICK kernels/quant)
set(QW_VECTORS model/kv_block model/attention kernels/ops kernels/softmax kernels/matmul kernels/kernel_float kernels/panel)
set(QW_SMALL ${QW_SOURCES} base/alloc hosts/wasm)
list(REMOVE_ITEM QW_SMALL ${QW_FAST} ${QW_QUICK} ${QW_VECTORS})
list(TRANSFORM QW_QUICK REPLACE "(.+)" "src/\\1.c")
list(TRANSFORM QW_VECTORS REPLACE "(.+)" "src/\\1.c")
list(TRANSFORM QW_SMALL REPLACE "(.+)" "src/\\1.c")
set_source_files_properties(${QW_QUICK} PROPERTIES COMPILE_OPTIONS -O2)
set_source_files_properties(${QW_VECTORS} PROPERTIES COMPILE_OPTIONS -Os)
set_source_files_properties(${QW_SMALL} ${QW_CJSON}/cJSON.c PROPERTIES COMPILE_OPTIONS -Oz)

function(qw_add_wasm build)
    add_library(options${build} INTERFACE)
    # Bulk memory is what keeps memcpy inside: without it, builds without threads would import one from JavaScript.
    target_compile_options(options${build} INTERFACE -msimd128 -mbulk-memory)
    target_link_options(options${build} INTERFACE -mbulk-memory)
    set(link ${QW_WASM_LINK} -sEXPORTED_RUNTIME_METHODS=wasmMemory)
    set(test_link ${QW_WASM_TEST_LINK})
    if(build MATCHES threads)
        target_compile_options(options${build} INTERFACE -pthread)
        set(link ${QW_WASM_LINK} -pthread -sPTHREAD_POOL_SIZE=0 ${QW_WASM_THREAD_STACK}
            -sEXPORTED_RUNTIME_METHODS=PThread,wasmMemory)
        list(APPEND test_link -pthread -sPROXY_TO_PTHREAD ${QW_WASM_THREAD_STACK})
    endif()
    if(build MATCHES relaxed)
        target_compile_options(options${build} INTERFACE -mrelaxed-simd)
    endif()
    qw_add_core("${build}" options${build})

    qw_add_program(qwen2${build} "${build}" alloc src/hosts/wasm.c)
    target_link_options(qwen2${build} PRIVATE ${link})
    set_target_properties(qwen2${build} PROPERTIES SUFFIX .js RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
    add_dependencies(dist qwen2${build})

    qw_add_all_tests("${build}")
    if(build MATCHES threads)
        qw_add_wasm_test(conformance${build} "${build}" "alloc;files" ${QW_CONFORMANCE})
        qw_add_wasm_test(format_probe${build} "${build}" "alloc;files" ${QW_FORMAT_PROBE})
    endif()
endfunction()

function(qw_add_wasm_test target name parts)
    qw_add_program(${target} "${name}" "${parts}" ${ARGN})
    target_link_options(${target} PRIVATE ${test_link})
    set_target_properties(${target} PROPERTIES SUFFIX .js
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/../wasm-tests)
    add_dependencies(wasm-tests ${target})
endfunction()

# One program of many tests (tests/c/all_tests.c): each main() gets a name of its own. All tests run in the build with
# threads and base SIMD, and there with assertions. In the other builds those run that could depend on the build, or with
# QW_EVERY_BUILD all of them, on the objects that ship.
option(QW_EVERY_BUILD "All C tests in every wasm build" OFF)
function(qw_add_all_tests build)
    set(names ${QW_BUILD_TESTS})
    set(core "${build}")
    if(build STREQUAL "-threads")
        set(names ${QW_TESTS})
        set(core -asserting)
        add_library(options-asserting INTERFACE)
        target_link_libraries(options-asserting INTERFACE options${build})
        target_compile_definitions(options-asserting INTERFACE QW_ASSERTIONS)
        qw_add_core(-asserting options-asserting)
    elseif(QW_EVERY_BUILD)
        set(names ${QW_TESTS})
        list(REMOVE_ITEM names assert)
    endif()
    set(objects)
    set(list "")
    foreach(name IN LISTS names)
        set(object test_${name}${build})
        add_library(${object} OBJECT tests/c/test_${name}.c)
        target_compile_definitions(${object} PRIVATE main=main_${name})
        target_link_libraries(${object} PRIVATE core_${core} cjson_${core} alloc_test_${core} files_${core})
        list(APPEND objects $<TARGET_OBJECTS:${object}>)
        string(APPEND list "${run_${name}}(${name})\n")
    endforeach()
    file(CONFIGURE OUTPUT tests${build}/all_tests.inc CONTENT "${list}")
    qw_add_wasm_test(tests${build} "${core}" "alloc_test;files" tests/c/all_tests.c ${objects})
    target_include_directories(tests${build} PRIVATE ${CMAKE_BINARY_DIR}/tests${build})
endfunction()

foreach(name IN LISTS QW_TESTS)
    set(file tests/c/test_${name}.c)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "-O1;-Wno-missing-prototypes") # main_NAME has none
    file(STRINGS ${file} plain REGEX "^int main\\(void\\)")
    if(plain)
        set(run_${name} RUN_PLAIN)
    else()
        set(run_${name} RUN)
    endif()
endforeach()

add_custom_target(dist)
add_custom_target(wasm-tests)
foreach(build "" -threads -relaxed -threads-relaxed)
    qw_add_wasm("${build}")
endforeach()
