// Runs a compiled benchmark (?file=URL&args=JSON) in a page's worker, whose thread may wait, and posts what it printed.
const query = new URLSearchParams(location.search);
const lines = [];
const { default: create } = await import(query.get('file'));
const module = await create({ print: (line) => lines.push(line), onExit: () => postMessage(lines.join('\n')) });
module.callMain(JSON.parse(query.get('args')));
