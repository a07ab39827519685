/** Emscripten's glue, made by the build: instantiates whichever of the wasm builds `instantiateWasm` brings. */
export default function createQwen2(options: {
  wasmMemory: WebAssembly.Memory;
  instantiateWasm(
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object;
}): Promise<any>;
