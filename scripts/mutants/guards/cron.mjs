const CRON = 'test/engine/cron.spec.ts';
const ZONES = 'test/engine/cron-zones.spec.ts';
const TIMER = 'lua/modules/timers/recurring.lua';

/**
 * Recurring jobs by cron.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const CRON_GUARDS = [
  {
    id: 'passed-slots-wait-for-a-server',
    name: 'cron: slots that have all passed make no job before a server has computed more',
    off: { with: '#recurring.slots == 0' },
    spec: CRON,
    test: 'after an outage › longer than all known slots, makes the last %d',
  },
  {
    id: 'server-computes-slots-in-time',
    name: 'cron: a server is asked for more slots in time',
    off: { with: 'not is_stale and $&' },
    spec: CRON,
    test: 'after an outage › longer than all known slots, makes the last %d',
  },
  {
    id: 'slot-waits-for-its-jitter',
    name: 'cron: a job waits for its jitter',
    off: { with: 'slot' },
    spec: CRON,
    test: 'a jitter longer than the time between slots › skips no slot without an outage, and makes no job before its jitter is over: %s',
  },
  {
    id: 'lateness-counts-from-the-job',
    name: 'cron: lateness counts from the time of the job, not of its slot',
    off: { with: 'due[n].slot' },
    spec: CRON,
    test: 'a jitter longer than the time between slots › skips no slot without an outage, and makes no job before its jitter is over: %s',
  },
  {
    id: 'cron-jitter-misses-none',
    name: 'cron: slots that come within one run of the timer are not missed with a jitter',
    off: 'false',
    spec: CRON,
    test: 'a jitter longer than the time between slots › skips no slot without an outage, and makes no job before its jitter is over: %s',
  },
  {
    id: 'cron-overlap-with-jitter',
    name: 'cron: with overlap, slots that come together make one job also with a jitter',
    off: 'remove',
    spec: CRON,
    test: 'a jitter longer than the time between slots › with overlap, makes the last one of the jobs that come at once',
  },
  {
    id: 'jittered-slots-are-bounded',
    name: 'cron: the number of slots that wait for their jitter is bounded',
    off: 'false',
    spec: CRON,
    test: 'a jitter longer than the time between slots › has at most 64 slots wait',
  },
  {
    id: 'slots-are-computed-during-jitter',
    name: 'cron: a server is asked for more slots while all known ones wait for their jitter',
    off: 'false',
    spec: CRON,
    test: 'a jitter longer than the time between slots › has at most 64 slots wait',
  },
  {
    id: 'jittered-slots-survive-a-change',
    name: 'cron: slots that wait for their jitter are kept through a change',
    off: 'false',
    spec: CRON,
    test: 'a jitter longer than the time between slots › is kept through a change, and makes no slot twice',
  },
  {
    id: 'cron-catch-up-ms',
    name: 'cron: catch_up_ms holds',
    off: 'false',
    spec: CRON,
    test: 'after an outage › makes no job for a slot that is older than catch_up_ms, of cron and of an interval',
  },
  {
    id: 'cron-overlap-one-job',
    name: 'cron: with overlap, several slots together make one job',
    off: 'remove',
    spec: CRON,
    test: 'overlap › replace: puts the job in the place of one that waits',
  },
  {
    id: 'cron-ended-leaves-index',
    name: 'cron: an ended schedule leaves the index',
    off: 'remove',
    spec: CRON,
    test: 'begins at its start, and ends before its end',
  },
  {
    id: 'cron-slots-of-revision',
    name: 'cron: slots that were computed for an older schedule are refused',
    off: 'remove',
    spec: CRON,
    test: 'refuses slots that were computed for an earlier schedule',
  },
  {
    id: 'cron-slot-stored-once',
    name: 'cron: no slot is stored twice',
    off: 'true',
    spec: CRON,
    test: 'a jitter longer than the time between slots › is kept through a change, and makes no slot twice',
  },
  {
    id: 'cron-served-slot-once',
    name: 'cron: a slot that made its job does not come again',
    off: { with: '0' },
    spec: CRON,
    test: 'changes › keep the slots of the same schedule, and never make the job of a slot twice',
  },
  {
    id: 'cron-kind-change-leaves-index',
    name: 'cron: a schedule that changes its kind leaves the old index',
    off: 'remove',
    spec: CRON,
    test: 'changes › go from an interval to cron and back',
  },
  {
    id: 'cron-hour-lists-fixed',
    name: 'cron: lists of hours are fixed times',
    off: 'remove',
    spec: ZONES,
    test: 'clock changes 1990 to 2037, beside a second implementation › %s',
  },
  {
    id: 'cron-midnight-gap',
    name: 'cron: a gap over midnight leaves out no slot',
    off: 'remove',
    spec: 'src/engine/recurring/cron.spec.ts',
    test: 'slots of a cron expression › are computed for %s in %s from %s',
  },
  {
    id: 'cron-old-zones-recomputed',
    name: 'cron: slots of older time zones are computed again',
    off: 'remove',
    spec: CRON,
    test: 'computes the slots again that older time zones have computed, and no others',
  },
  {
    id: 'cron-newer-zones-stay',
    name: 'cron: slots of newer time zones are not replaced by older ones',
    off: 'false',
    spec: CRON,
    test: 'time zones of another version › that are newer keep their slots, and get more',
  },
  {
    id: 'cron-oldest-zones-version',
    name: 'cron: slots have the oldest version of their time zones',
    off: 'remove',
    spec: CRON,
    test: 'time zones of another version › that are older stay so when newer slots are added, until all are computed again',
  },
  {
    id: 'slots-of-an-outage-are-kept',
    name: 'cron: slots that passed in an outage are kept when slots are computed again',
    off: { with: 'replaces ? ahead : $&' },
    spec: CRON,
    test: 'time zones of another version › lose no slot of an outage when they are computed again',
  },
  {
    id: 'cron-recomputed-hourly',
    name: 'cron: slots are computed again each hour',
    off: { with: 'null' },
    spec: 'src/engine/recurring/slot-renewal.spec.ts',
    test: 'slot renewal computes slots each hour, and half a minute after a failed pass',
  },
  {
    id: 'note-ends-with-the-pause',
    name: 'cron: the note of a pause is removed with it',
    off: 'true',
    spec: CRON,
    test: 'pause › skips what passes, and keeps its note until it is resumed',
  },
];
