const KEYS = 'test/engine/publishing.spec.ts';
const EXTENDED_PUBLISH = 'test/engine/extended-publish.spec.ts';
const PARTS = 'test/engine/leasing.spec.ts';

/**
 * Idempotency keys of native publishes, and long calls of the extended path that are sent in parts.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const NATIVE_KEYS = [
  {
    id: 'idempotency-same-step-extended',
    name: 'idempotency: the record is written in the extended publish script',
    off: 'remove',
    spec: KEYS,
    test: 'idempotency keys › an idempotency key › makes one job and two equal answers of a request sent twice',
  },
  {
    id: 'idempotency-both-paths',
    name: 'idempotency: each path finds the record of the other',
    off: 'remove',
    spec: KEYS,
    test: 'idempotency keys of the native API › an idempotency key on the extended path › returns the first answer on the other path: %s path first',
  },
  {
    id: 'fingerprint-has-all-fields',
    name: 'idempotency keys: the fingerprint has all fields',
    off: { with: "name !== 'queue'" },
    spec: KEYS,
    test: 'idempotency keys › an idempotency key › is refused with another %s, and nothing is stored',
  },
  {
    id: 'idempotency-header-reaches-engine',
    name: 'idempotency: the header reaches the engine',
    off: { with: '{}' },
    spec: 'test/api/native-jobs.spec.ts',
    test: 'publish › a native publish, by %s › returns the first answer if %s is sent again with its Idempotency-Key',
  },
  {
    id: 'resent-publish-finds-ids',
    name: 'publish: a publish that is sent again finds its own ids',
    off: 'remove',
    spec: KEYS,
    test: 'idempotency keys of the native API › an extended publish during trouble with Redis › stores each job once if the driver sends the publish again, and returns the states',
  },
  {
    id: 'extended-publish-marks-queue',
    name: 'publish: an extended job makes its queue an extended one',
    off: 'remove',
    spec: EXTENDED_PUBLISH,
    test: 'a publish of extended jobs › makes a queue with simple jobs extended, and keeps their order',
  },
  {
    id: 'extended-publish-indexes',
    name: 'publish: extended jobs of the simple script are in their indexes',
    off: 'remove',
    spec: EXTENDED_PUBLISH,
    test: 'a publish of extended jobs › stores the same with %s by the simple script and the extended one',
  },
  {
    id: 'namespace-retention-counts',
    name: 'simple publish: the retention of the namespace counts for an extended job',
    off: 'false',
    spec: EXTENDED_PUBLISH,
    test: 'a publish of extended jobs › keeps jobs as long as their namespace says',
  },
  {
    id: 'call-keeps-order',
    name: 'publish: jobs of one call become ready in their order',
    off: 'unwrap',
    spec: EXTENDED_PUBLISH,
    test: 'a publish of extended jobs › keeps the order of a batch in which some jobs have a type, with %s',
  },
  {
    id: 'expired-extended-id-is-free',
    name: 'publishes: an id that an expired extended job has is free',
    off: 'false',
    spec: EXTENDED_PUBLISH,
    test: 'a publish of extended jobs › refuses an id in use, and accepts that of an expired job',
  },
  {
    id: 'ack-leaves-extended',
    name: 'acks: one without a queue leaves extended jobs to the extended path',
    off: 'false',
    spec: 'test/engine/batches.spec.ts',
    test: 'batch ack › many acknowledgements in one call › find simple and extended jobs without a queue name, beside items that name a queue',
  },
  {
    id: 'lease-for-its-request',
    name: 'leases: a job of an extended queue goes to the request that leased it',
    off: 'remove',
    spec: 'src/engine/lease/long-poll-manager.spec.ts',
    test: 'a wake-up › delivers a job to the request that it was leased for, and releases a second job for that request',
  },
  {
    id: 'undo-in-reverse-order',
    name: 'extended path: leases are undone in reverse order',
    off: { with: '$&.reverse()' },
    spec: PARTS,
    test: 'parts of a lease › a lease of more extended jobs than one script takes › gets all jobs in two scripts, each once, in order, and can be undone as a whole',
  },
  {
    id: 'undo-scripts-run-one-by-one',
    name: 'extended path: scripts that undo run one after the other',
    off: { with: 'void $&' },
    spec: PARTS,
    test: 'parts of a lease › a lease of more extended jobs than one script takes › is undone in order if a script is slow and another one fails',
  },
  {
    id: 'undo-goes-on-after-a-failure',
    name: 'extended path: an undo goes on when one of its scripts fails',
    off: { with: 'this.settleBatch(namespace, part)' },
    spec: PARTS,
    test: 'parts of a lease › a lease of more extended jobs than one script takes › is undone in order if a script is slow and another one fails',
  },
  {
    id: 'long-lease-goes-on',
    name: 'extended path: a long lease goes on after its first part',
    off: 'false',
    spec: PARTS,
    test: 'parts of a lease › a lease of more extended jobs than one script takes › gets all jobs in two scripts, each once, in order, and can be undone as a whole',
  },
  {
    id: 'lease-script-is-short',
    name: 'extended path: a lease takes no more than a script has the time for',
    off: { with: '100' },
    spec: PARTS,
    test: 'parts of a lease › a lease of more extended jobs than one script takes › gets all jobs in two scripts, each once, in order, and can be undone as a whole',
  },
  {
    id: 'idempotency-ttl-is-passed-on',
    name: 'Idempotency-TTL-Ms: a publish passes it on',
    off: { with: '86_400_000' },
    spec: 'test/api/idempotency-headers.spec.ts',
    test: 'Idempotency-TTL-Ms › the header on a call to %s › sets how long the key is kept: %s ms',
  },
  {
    id: 'idempotency-ttl-needs-a-key',
    name: 'Idempotency-TTL-Ms: it is refused without a key',
    off: 'false',
    spec: 'test/api/idempotency-headers.spec.ts',
    test: 'Idempotency-TTL-Ms › the header on a call to %s › is refused without an Idempotency-Key',
  },
  {
    id: 'idempotency-ttl-has-a-range',
    name: 'Idempotency-TTL-Ms: it has a range',
    off: 'false',
    spec: 'test/api/idempotency-headers.spec.ts',
    test: 'Idempotency-TTL-Ms › the header on a call to %s › is refused below a second, above 30 days, or as no number: "%s"',
  },
];
