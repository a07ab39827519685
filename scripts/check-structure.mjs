// Which files of src/ and js/ stand in each other's way (lib/structure.mjs).
import { faultsOfC, faultsOfJs } from './lib/structure.mjs';
import { say, script } from './lib/run.mjs';

await script(() => {
  const faults = [...faultsOfC(), ...faultsOfJs()];
  for (const fault of faults) say(fault);
  say(`structure: ${faults.length} faults`);
  return faults.length ? 1 : 0;
});
