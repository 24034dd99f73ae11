import TestSequencer from '@jest/test-sequencer';

/** The files that take longest, longest first. On a fresh machine Jest knows only the sizes of files. */
const LONGEST = [
  'test/engine/cluster-move',
  'test/api/shutdown',
  'test/faults/rolling',
  'test/faults/nemesis',
  'test/engine/extended-properties',
  'test/faults/kill',
  'test/engine/properties',
  'test/faults/unseen',
  'test/engine/cluster.spec',
  'test/faults/',
  'test/api/main',
  'test/api/embedded',
  'test/packages/',
  'test/engine/library',
  'test/api/readme',
  'test/api/',
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
