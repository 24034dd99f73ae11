const SPEC = 'test/engine/strict-order.spec.ts';
const ORDER = 'a strict order per concurrency key';

/**
 * Strict order: a key waits until its earlier job has ended.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const STRICT_ORDER = [
  {
    id: 'strict-order-runs-one',
    name: 'strict order: one job of a key runs at a time',
    off: 'remove',
    spec: SPEC,
    test: `${ORDER} › leases one job of a key at a time, in the order of publishing`,
  },
  {
    id: 'strict-order-keeps-the-slot',
    name: 'strict order: a job that waits for its next attempt keeps its slot',
    off: { with: 'false and $&' },
    spec: SPEC,
    test: `${ORDER} › waits for the delay of a %s`,
  },
  {
    id: 'kept-slot-goes-to-the-front',
    name: 'strict order: a job that is ready again comes before other keys',
    off: { with: 'false and $&' },
    spec: SPEC,
    test: `${ORDER} › puts a job that is ready again before all other keys: its key has waited`,
  },
  {
    id: 'strict-slot-waits-for-no-later-job',
    name: 'strict order: a job depends on no job that waits behind it',
    off: { with: 'false' },
    spec: SPEC,
    test: `${ORDER} › a dependency on a later job of the key › is refused for a waiting job when it is %s`,
  },
  {
    id: 'moved-job-frees-its-key',
    name: 'strict order: a job that leaves its queue frees its key',
    off: { with: 'true or $&' },
    spec: SPEC,
    test: `${ORDER} › frees the key of a job that goes on in %s`,
  },
  {
    id: 'dead-job-blocks-its-key',
    name: 'strict order: a dead job blocks its key only where it is to',
    off: { with: 'true and concurrency_keys.DEAD_SLOT or $&' },
    spec: SPEC,
    test: `${ORDER} › goes on after a job that is dead, and takes it up at the end of its key`,
  },
  {
    id: 'strict-order-ignores-priorities',
    name: 'strict order: priorities do not count within a key',
    off: { with: 'false and $&' },
    spec: SPEC,
    test: `${ORDER} › does not count priorities within a key`,
  },
  {
    id: 'strict-order-needs-one-running',
    name: 'strict order: a higher limit per key is refused',
    off: { with: 'false and $&' },
    spec: SPEC,
    test: `${ORDER} › is refused when it %s`,
  },
  {
    id: 'strict-order-needs-its-format',
    name: 'strict order: an older store has none',
    off: 'false',
    spec: 'test/engine/data-format.spec.ts',
    test: 'data formats › a server › raises the format when it is told to, and not while a server of an older version is connected',
  },
];
