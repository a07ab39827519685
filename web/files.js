/**
 * Files that the visitor picks or drops. A dropped folder stands for the files of a checkpoint in it.
 */

const OF_A_CHECKPOINT = /\.(gguf|safetensors|json|jinja)$/i;

/**
 * @param {Array<FileSystemEntry | null>} entries
 * @returns {Promise<File[]>}
 */
async function filesOf(entries) {
  /** @type {File[]} */
  const files = [];
  for (const entry of entries) {
    if (entry?.isFile) files.push(await fileOf(/** @type {FileSystemFileEntry} */ (entry)));
    if (entry?.isDirectory) {
      const inside = await childrenOf(/** @type {FileSystemDirectoryEntry} */ (entry));
      const wanted = inside.filter((child) => child.isFile && OF_A_CHECKPOINT.test(child.name));
      files.push(...(await filesOf(wanted)));
    }
  }
  return files;
}

/**
 * @param {FileSystemFileEntry} entry
 * @returns {Promise<File>}
 */
const fileOf = (entry) => new Promise((resolve, reject) => entry.file(resolve, reject));

/** @param {FileSystemDirectoryEntry} folder */
async function childrenOf(folder) {
  const reader = folder.createReader();
  /** @type {FileSystemEntry[]} */
  const children = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return children;
    children.push(...some);
  }
}

/**
 * Calls back with what is dropped anywhere on the page.
 * @param {(files: File[]) => void} onFiles
 * @param {(error: unknown) => void} onError
 */
export function takeDrops(onFiles, onError) {
  /** @param {DragEvent} event */
  const hasFiles = (event) => event.dataTransfer?.types.includes('Files') ?? false;
  const mark = (/** @type {boolean} */ on) => document.body.classList.toggle('dropping', on);

  window.addEventListener('dragover', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(true);
  });
  window.addEventListener('dragleave', (event) => {
    if (!event.relatedTarget) mark(false);
  });
  window.addEventListener('drop', (event) => {
    mark(false);
    if (!hasFiles(event) || !event.dataTransfer) return;
    event.preventDefault();
    // Both lists are emptied when this handler returns: take them now.
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
    const files = [...event.dataTransfer.files];
    const taken = entries.some((entry) => entry?.isDirectory) ? filesOf(entries) : Promise.resolve(files);
    taken.then(onFiles).catch(onError);
  });
}
