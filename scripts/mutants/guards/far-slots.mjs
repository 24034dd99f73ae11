const FAR = 'test/engine/far-slots.spec.ts';
const SLOTS = 'test/engine/far-slots.spec.ts';
const FORMAT = 'test/engine/data-format.spec.ts';

/**
 * Jobs far ahead, and the data formats.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const FAR_SLOTS = [
  {
    id: 'far-entry-checks-life',
    name: 'far slots: an entry counts only for the job that it was made for',
    off: 'remove',
    spec: FAR,
    test: 'slots of far jobs › a job far ahead › leaves an entry that is not taken for a later job of its id, in queue %s',
  },
  {
    id: 'chosen-id-is-no-earlier-entry',
    name: 'far slots: a chosen id is told from the entry of an earlier job',
    off: 'true',
    spec: FAR,
    test: 'slots of far jobs › a job far ahead › leaves an entry that is not taken for a later job of its id, in queue %s',
  },
  {
    id: 'far-entry-without-a-job-is-dropped',
    name: 'far slots: an entry whose job is gone is dropped',
    off: 'true',
    spec: FAR,
    test: 'slots of far jobs › a job far ahead › leaves only its entry after an ack, until its slot is opened',
  },
  {
    id: 'far-removal-counted',
    name: 'far slots: a removed far job is subtracted from the count',
    off: 'false',
    spec: FAR,
    test: 'slots of far jobs › a job far ahead › is counted exactly at all times',
  },
  {
    id: 'chosen-id-not-far',
    name: 'far slots: a job with a chosen id has none',
    off: 'true',
    spec: FAR,
    test: 'slots of far jobs › a job far ahead › is stored in a far slot only with a generated id',
  },
  {
    id: 'run-at-not-far',
    name: 'far slots: a job with run_at is never stored in a far slot',
    off: 'remove',
    spec: 'test/engine/extended-publish.spec.ts',
    test: 'a publish of extended jobs › a publish of simple jobs only, by the simple script › makes jobs ready at their time by Redis’s clock',
  },
  {
    id: 'far-looks-at-expiry',
    name: 'far slots: a job that expires before it is due is found at its expiry',
    off: 'false',
    spec: FAR,
    test: 'slots of far jobs › a job far ahead › is removed when its ttl ends before it is due (%s)',
  },
  {
    id: 'far-slot-opens-early',
    name: 'far slots: a slot is opened before it begins',
    off: { with: '$& + LEAD_MS + SLOT_MS' },
    spec: FAR,
    test: 'slots of far jobs › a job far ahead › is ready on time and never early, with the time %s',
  },
  {
    id: 'late-slot-first',
    name: 'far slots: a late slot is opened first',
    off: 'true',
    spec: SLOTS,
    test: 'opening slots of far jobs › slots of far jobs › run late far jobs before jobs that are due later',
  },
  {
    id: 'slot-opened-in-steps',
    name: 'far slots: a slot is opened in bounded steps',
    off: { with: '-1' },
    spec: SLOTS,
    test: 'opening slots of far jobs › slots of far jobs › are opened in bounded consistent steps: 5,000 jobs in one',
  },
  {
    id: 'far-queue-not-forgotten',
    name: 'far slots: a queue with a far job is not removed',
    off: 'remove',
    spec: SLOTS,
    test: 'opening slots of far jobs › slots of far jobs › are kept for a queue with one job left, which runs in its time',
  },
  {
    id: 'newer-format-is-refused',
    name: 'data format: a newer one is refused',
    off: 'false',
    spec: FORMAT,
    test: 'data formats › a server › refuses to start on a store of a newer format, and leaves its number',
  },
  {
    id: 'format-raised',
    name: 'data format: an older format is raised',
    off: { with: '0' },
    spec: FORMAT,
    test: 'data formats › a server › writes the present format number into a new store, and 3 into an older one',
  },
  {
    id: 'dead-list-has-no-ttl',
    name: 'data format: the dead list of an older format loses its time to live',
    off: 'remove',
    spec: FORMAT,
    test: 'data formats › a server › keeps jobs of format 1 that die later, beyond the TTL that format 1 set (%s body)',
  },
  {
    id: 'huge-slot-bounded-step',
    name: 'far slots: a large slot takes its share of a step only',
    off: 'unwrap',
    spec: SLOTS,
    test: 'opening slots of far jobs › slots of far jobs › delay no lease of another queue with any number of jobs',
  },
  {
    id: 'far-queue-back-in-due',
    name: 'far slots: a queue with far jobs that is missing in the due index is added again',
    off: 'false',
    spec: SLOTS,
    test: 'opening slots of far jobs › slots of far jobs › run in time after a server of an older version dropped them from the due set',
  },
  {
    id: 'full-redis-of-older-format-opens',
    name: 'data format: a full Redis with an older format can be opened',
    off: 'true',
    spec: FORMAT,
    test: 'data formats › a full Redis with data format 1 › can be opened and drained, and gets the format number when there is room',
  },
];
