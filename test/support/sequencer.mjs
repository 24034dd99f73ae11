import TestSequencer from '@jest/test-sequencer';

/** The files that take longest, longest first. On a fresh machine Jest knows only the sizes of files. */
const LONGEST = [
  'test/api/push.spec',
  'test/processes/examples',
  'test/faults/rolling',
  'test/faults/push-nemesis',
  'test/topologies/cluster.spec',
  'test/processes/shutdown',
  'packages/client/test/processes',
  'test/faults/push.spec',
  'test/faults/kill.spec',
  'test/faults/later',
  'test/engine/faults',
  'test/faults/migration',
  'test/faults/workers',
  'packages/client/test/worker.spec',
  'test/processes/embedded',
  'test/processes/packages',
  'test/api/later',
  'test/faults/',
  'test/api/',
  'test/engine/',
  'test/worker/',
];

/** Starts the longest files first, so that the last worker does not end long after the others. */
export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const at = LONGEST.findIndex((part) => path.includes(part));
      return at < 0 ? LONGEST.length : at;
    };
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
}
