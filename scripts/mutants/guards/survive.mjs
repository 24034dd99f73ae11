/**
 * Stores of other builds, and bounds that are kept for the sake of those who come after.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const SURVIVE = [
  {
    name: 'older stores: their number is raised',
    file: 'src/redis/inspect.ts',
    from: 'else if (Number(found) < DATA_FORMAT) await raiseFormat(client, keys);',
    to: '',
    spec: 'test/redis/older-stores.spec.ts',
    test: 'is served as it is',
  },
];
