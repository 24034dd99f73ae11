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
    name: 'import: a job that came is known, even if it was done since',
    file: 'lua/commands/maintenance/import.lua',
    from: ' or redis.call("SISMEMBER", imported, source) == 1',
    to: '',
    spec: ENGINE,
    test: 'come once, even if they were done meanwhile',
  },
  {
    name: 'import: a job of another queue keeps its id',
    file: 'lua/commands/maintenance/import.lua',
    from: 'present.queue == find_queue(arrival.queue) and 1 or 2',
    to: '1',
    spec: ENGINE,
    test: 'do not take the id of a job of another queue',
  },
  {
    name: 'import: the dead keep their order',
    file: 'lua/commands/maintenance/import.lua',
    from: 'last + 1 / 64',
    to: '0',
    spec: ENGINE,
    test: 'are dead in the order in which they were',
  },
  {
    name: 'import: a job leaves the source when it is stored, not before',
    file: 'src/cli/import/transfer.ts',
    from: 'await this.store.store(found);\n      await this.source.release(kind, name, found, unreadable);',
    to: 'await this.source.release(kind, name, found, unreadable);\n      await this.store.store(found);',
    spec: RESUME,
    test: 'broken off just before any of its steps',
  },
  {
    name: 'import: that a job came is forgotten when it has left the source, not before',
    file: 'src/cli/import/transfer.ts',
    from: 'await this.source.release(kind, name, found, unreadable);\n      await this.store.forget(found);',
    to: 'await this.store.forget(found);\n      await this.source.release(kind, name, found, unreadable);',
    spec: RESUME,
    test: 'broken off just before any of its steps',
  },
  {
    name: 'import: what an earlier run had in hand of the timer is brought first',
    file: 'src/cli/import/transfer.ts',
    from: "await this.bringTimer(lock);\n    this.tally.clear('left');",
    to: "this.tally.clear('left');",
    spec: RESUME,
    test: 'broken off just after any of its steps',
  },
  {
    name: 'import: a copy that workers disturb is begun anew',
    file: 'src/cli/import/transfer.ts',
    from: 'if (still?.equals(oldest) === true) return;',
    to: 'if (still) return;',
    spec: RESUME,
    test: 'passes nothing over in a copy while workers take jobs',
  },
  {
    name: 'import: leases of a server that runs are left to it',
    file: 'src/cli/import/transfer.ts',
    from: 'this.plan.isStopped || isDelayed',
    to: 'this.plan.isStopped || !this.plan.isStopped || isDelayed',
    spec: COMMAND,
    test: 'leaves leases to a server that runs',
  },
  {
    name: 'import: one drain at a time',
    file: 'src/cli/import/lock.ts',
    from: "LIFE_MS, 'NX')",
    to: 'LIFE_MS)',
    spec: COMMAND,
    test: 'refuses a second drain',
  },
];
