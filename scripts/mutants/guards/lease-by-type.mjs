const SPEC = 'test/engine/lease-by-type.spec.ts';
const MODEL = 'test/properties/extended-jobs.spec.ts';
const LONG_POLLS = 'src/engine/lease/long-poll-manager.spec.ts';
const FORMAT = 'test/engine/data-format.spec.ts';

/**
 * Leases by type: a worker gets jobs of its types in their order, and none is lost on the way to the lists of types.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const LEASE_BY_TYPE = [
  {
    id: 'directory-follows-its-lists',
    name: 'lease by type: the directory has the first job of each list',
    off: 'redis.call("EXISTS", directory)',
    spec: SPEC,
    test: 'leases by type › give jobs of these types only, in the order in which they became ready',
  },
  {
    id: 'simple-jobs-stay-in-the-list',
    name: 'lease by type: simple jobs stay in the ready list',
    off: 'job and not keeps(job, kind)',
    spec: SPEC,
    test: 'leases by type › order a queue whose jobs were ready before',
  },
  {
    id: 'types-leave-out-untyped-jobs',
    name: 'lease by type: a request without null gets no job without a type',
    off: 'true',
    spec: SPEC,
    test: 'leases by type › take jobs without a type for null, simple and extended ones',
  },
  {
    id: 'one-call-keeps-its-order',
    name: 'lease by type: simple and extended jobs of one call keep its order',
    off: 'false',
    spec: SPEC,
    test: 'leases by type › keep the order of one call, whose script runs later than its ids were minted',
  },
  {
    id: 'queue-being-ordered-is-no-empty-one',
    name: 'lease by type: a queue that is being ordered is not passed over',
    off: 'requested',
    spec: SPEC,
    test: 'leases by type › take the jobs of the first of two queues first, also while it is ordered',
  },
  {
    id: 'typed-jobs-count',
    name: 'lease by type: jobs in lists of types count for a quota',
    off: '0',
    spec: SPEC,
    test: 'a quota on the jobs of a queue › counts those in lists of types',
  },
  {
    id: 'unlisted-job-is-in-no-far-slot',
    name: 'lease by type: a job that leaves its list is none of a far slot',
    off: '0',
    spec: SPEC,
    test: 'leases by type › do not bring a job early that was scheduled far ahead before',
  },
  {
    id: 'recheck-asks-for-all-types',
    name: 'lease by type: each second one request of each set of types is sent',
    off: '[]',
    spec: LONG_POLLS,
    test: 'the check of all queues each second › fetches for one request of each set of types',
  },
  {
    id: 'wake-up-of-a-type',
    name: 'lease by type: a wake-up is for requests that take its type',
    off: 'true',
    spec: LONG_POLLS,
    test: 'a wake-up for jobs of a type › fetches for requests that take it, and for no other',
  },
  {
    id: 'types-need-their-format',
    name: 'data format: no lease by type before format 4',
    off: 'false',
    spec: FORMAT,
    test: 'data formats › a server › raises the format when it is told to, and not while a server of an older version is connected',
  },
  {
    id: 'older-servers-keep-the-format',
    name: 'data format: it is not raised beside an older server',
    off: 'false',
    spec: FORMAT,
    test: 'data formats › a server › raises the format when it is told to, and not while a server of an older version is connected',
  },
];
