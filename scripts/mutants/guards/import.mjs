const ENGINE = 'test/engine/import.spec.ts';
const RESUME = 'test/engine/import.spec.ts';
const COMMAND = 'test/api/import-lmstfy.spec.ts';

/**
 * Bringing the jobs of a lmstfy server over: none lost, none twice.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const IMPORT = [
  {
    id: 'import-ends-by-a-signal',
    name: 'import: a signal ends it before its next batch',
    off: 'remove',
    spec: 'test/engine/import.spec.ts',
    test: 'an import that is resumed › a drain of a lmstfy server › ends before its next batch after a signal, and leaves nothing half done',
  },
  {
    id: 'import-knows-done',
    name: 'import: an imported job is known although it is done',
    off: 'remove',
    spec: ENGINE,
    test: 'import from lmstfy › jobs imported from lmstfy › are imported once, even if they were done meanwhile, until they are forgotten',
  },
  {
    id: 'import-keeps-id',
    name: 'import: a job of another queue keeps its id',
    off: { with: '1' },
    spec: ENGINE,
    test: 'import from lmstfy › jobs imported from lmstfy › replace no job of another queue, but an expired one',
  },
  {
    id: 'import-dead-order',
    name: 'import: dead jobs keep their order',
    off: { with: '0' },
    spec: ENGINE,
    test: 'import from lmstfy › jobs imported from lmstfy › are dead in their former order',
  },
  {
    id: 'import-stores-before-release',
    name: 'import: a job leaves the source when it is stored, not before',
    off: { behind: 1 },
    spec: RESUME,
    test: 'an import that is resumed › a drain of a lmstfy server › resumes after a stop just %s any of its steps, and moves each job once',
  },
  {
    id: 'import-forgets-after-release',
    name: 'import: an imported job is forgotten when it has left the source, not before',
    off: { behind: 1 },
    spec: RESUME,
    test: 'an import that is resumed › a drain of a lmstfy server › resumes after a stop just %s any of its steps, and moves each job once',
  },
  {
    id: 'import-resumes-timer',
    name: 'import: timer entries of an interrupted run are imported first',
    off: 'remove',
    spec: RESUME,
    test: 'an import that is resumed › a drain of a lmstfy server › resumes after a stop just %s any of its steps, and moves each job once',
  },
  {
    id: 'disturbed-copy-begins-anew',
    name: 'import: a copy that consumers disturb begins anew',
    off: 'true',
    spec: RESUME,
    test: 'an import that is resumed › a drain of a lmstfy server › misses nothing in a copy while workers lease jobs: it starts again, or fails',
  },
  {
    id: 'import-leaves-leases',
    name: 'import: leases of a server that runs are left to it',
    off: 'true',
    spec: COMMAND,
    test: 'pumphouse import-lmstfy › leaves leased jobs to a running lmstfy, and moves a job when its lease has expired',
  },
  {
    id: 'import-one-drain',
    name: 'import: one drain at a time',
    off: 'remove',
    spec: COMMAND,
    test: 'pumphouse import-lmstfy › refuses a second drain of the same Redis',
  },
  {
    id: 'import-brings-tokens',
    name: 'import: tokens and limits are brought before the jobs',
    off: 'remove',
    spec: COMMAND,
    test: 'pumphouse import-lmstfy › keeps tokens and limits valid for clients',
  },
  ...[
    ['import-brings-no-token-again', 'false', 'brings no token again that was deleted while it follows'],
    ['import-corrects-clocks', { with: '0' }, 'corrects times by the difference of the clocks'],
  ].map(([id, off, test]) => ({
    id: String(id),
    name: `import: ${String(test)}`,
    off: /** @type {import('../guards.mjs').Guard['off']} */ (off),
    spec: 'test/api/import-lmstfy.spec.ts',
    test: `pumphouse import-lmstfy › ${String(test)}`,
  })),
];
