const NATIVE = 'test/engine/migrating.spec.ts';
const FILE = 'src/engine/migration/migrating-native.ts';

/**
 * The native API while a pool moves: each job where it is, and nothing that two stores cannot keep.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const NATIVE_MIGRATION = [
  {
    name: 'migrating natively: unique keys wait',
    file: FILE,
    from: "refuse(job.unique !== undefined, 'unique');",
    to: '',
    spec: NATIVE,
    test: 'rejects unique until',
  },
  {
    name: 'migrating natively: dependencies wait',
    file: FILE,
    from: "refuse((job.dependsOn ?? []).length > 0, 'depends_on');",
    to: '',
    spec: NATIVE,
    test: 'rejects depends_on until',
  },
  {
    name: 'migrating natively: an id must be free in both pools',
    file: FILE,
    from: 'if (taken.some((job) => job !== null))',
    to: 'if (taken.length < 0)',
    spec: NATIVE,
    test: 'has a chosen id free',
  },
  {
    name: 'migrating natively: what the new pool does not know the old one may',
    file: FILE,
    from: "(one) => 'found' in one,",
    to: '() => true,',
    spec: NATIVE,
    test: 'hears what their owners say',
  },
  {
    name: 'migrating natively: a job of a pool that is away is not said to be gone',
    file: FILE,
    from: 'if (failure !== undefined && others.some(isMissing)) throw failure as Error;',
    to: '',
    spec: NATIVE,
    test: 'drains the old pool',
  },
];
