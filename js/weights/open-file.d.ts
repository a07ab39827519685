/** What the loader reads, whatever it is: HTTP, a Blob, disk, a page's ModelFile, a manifest's parts, a kept copy. */
export interface OpenFile {
  name: string;
  size: number;
  /** Where the last bytes came from. */
  phase: 'download' | 'cache';
  /** Bytes that are here already, where more are than were filled. */
  here?: number;
  /** Brings 1 .. view.length bytes from offset on and says how many. */
  fill(view: Uint8Array, offset: number): number | Promise<number>;
  /** The headers are read: from now on the file is wanted to its end. */
  stream?(): void;
  /** Gives back connections until the next fill, because another file is read now. */
  pause?(): Promise<void>;
  /** Called when the engine has all it wants: reads what is left of a file that is kept or hashed. */
  finish(): Promise<void>;
  close(): void;
}

/** A file of the network, with what tells one version of it from another. */
export interface RemoteFile extends OpenFile {
  etag: string;
  modified: string;
}
