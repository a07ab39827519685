/**
 * What a place where the package runs (a page, Node) gives it. page/browser.js and node/host.js are Hosts; stores are written
 * in weights/opfs-store.js (OPFS) and node/files.js (a folder).
 */

/** What differs between a page and Node, on the side of the caller. */
export interface Host {
  /** Why no engine can live here, as a sentence with the way out; '' where one can. */
  refusal(): string;
  /** url: of the script where it is not beside this one; a page's may be a TrustedScriptURL. */
  startWorker(name: string, url?: ScriptUrl): HostWorker;
  /** What stands in the way where a worker cannot be started. */
  workerHint: string;
  /** Absolute URL of a relative string (or, in Node, of a path). */
  resolveUrl(text: string): string;
  /** By build. */
  wasmUrls(): Record<string, string>;
  /** Whether threads can share memory. */
  canShare(): boolean;
  cores(): number;
  store(folder?: string): Promise<Store | null>;
  persist(): Promise<boolean>;
  /** What limits the memory of this process, as a sentence; '' where nothing is known to. */
  memoryLimit(): string;
  isPage: boolean;
}

/** A URL, or an object that a page's Trusted Types take for one. */
export type ScriptUrl = string | { toString(): string };

/** A worker as both have it. */
export interface HostWorker {
  post(message: unknown, transfer?: Transferable[]): void;
  /** wayOut: what would help, where that is known. */
  listen(handle: (message: any) => void, fail: (error: Error, wayOut?: string) => void): void;
  /** A promise where it takes time. */
  terminate(): unknown;
  /** Whether it keeps the process alive (Node). */
  hold(yes: boolean): void;
}

/** A folder of small operations. */
export interface Store {
  /** Null where there is no such file. */
  text(name: string): Promise<string | null>;
  /** As a whole or not at all. */
  write(name: string, text: string): Promise<void>;
  /** Null where it may be read only and is not there. */
  open(name: string, write: boolean): Promise<StoreFile | null>;
  remove(name: string): Promise<void>;
  names(): Promise<string[]>;
  bytes(name: string): Promise<number>;
  /**
   * A lock that goes with whoever holds it, however he ends. wait: until it is free; else null where it is not. Resolves to what
   * gives it back; rejects with 'aborted'.
   */
  lock(name: string, options: { wait: boolean; signal?: AbortSignal }): Promise<(() => void) | null>;
  /** Bytes that there is room for; Infinity where that is not known. */
  free(): Promise<number>;
}

/** An open file of a store. write appends or overwrites. */
export interface StoreFile {
  size(): number;
  read(view: Uint8Array, at: number): number | Promise<number>;
  write(bytes: Uint8Array, at: number): void;
  truncate(bytes: number): void;
  close(): void;
}

/** A file on disk by its file: URL; null where there is none. */
export type OpenPath = (
  url: string,
) => { size: number; read(view: Uint8Array, offset: number): number; close(): void } | null;

/** What the worker has in Node beside a browser's globals, as globalThis.qwen2Node. */
export interface NodeFiles {
  /** This Node on this CPU. */
  agent(): string;
  openPath: OpenPath;
  folderStore(folder?: string): Promise<Store | null>;
}
