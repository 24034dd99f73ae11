const MIGRATING = 'test/engine/migrating.spec.ts';

/**
 * Moving a pool to another Redis: the old one first, never none, and nothing given to one who has his job already.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const MIGRATION = [
  {
    name: 'migrating: consumers drain the old pool first',
    file: 'src/engine/migration/migrating-wait.ts',
    from: 'if (!this.old.isUp) return [];',
    to: 'if (request.count > 0) return [];',
    spec: MIGRATING,
    test: 'gives out the jobs of the old pool first',
  },
  {
    name: 'migrating: what one wait found ends the other',
    file: 'src/engine/migration/migrating-wait.ts',
    from: 'if (jobs.length > 0) found.abort();',
    to: '',
    spec: MIGRATING,
    test: 'wakes who waits when a job comes to the old pool',
  },
  {
    name: 'migrating: what both pools brought at one moment is not too many',
    file: 'src/engine/migration/migrating-wait.ts',
    from: 'jobs.splice(request.count)',
    to: 'jobs.splice(request.count + 1)',
    spec: MIGRATING,
    test: 'to one who waits when both pools bring a job at one moment',
  },
  {
    name: 'migrating: what both pools brought at one moment goes back',
    file: 'src/engine/migration/migrating-wait.ts',
    from: 'if (spare.length > 0) await this.giveBack(namespace, spare);',
    to: '',
    spec: MIGRATING,
    test: 'to one who waits when both pools bring a job at one moment',
  },
  {
    name: 'migrating: a job is acknowledged where it is',
    file: 'src/engine/migration/migrating-wait.ts',
    from: 'const second = await leaseFrom(other);',
    to: 'const second = await leaseFrom(one);',
    spec: MIGRATING,
    test: 'acknowledges a job where it is',
  },
  {
    name: 'migrating: republish stores the new job before the old one goes',
    file: 'src/engine/migration/migrating-queues.ts',
    from: 'const id = await this.next.republish(namespace, queue, oldId, job, options);',
    to: 'await this.old.ack(namespace, queue, oldId);\n    const id = await this.next.republish(namespace, queue, oldId, job, options);',
    spec: MIGRATING,
    test: 'T27: puts the new job in its pool before the old one goes',
  },
  {
    name: 'migrating: an id must be free in both pools',
    file: 'src/engine/migration/migrating-queues.ts',
    from: 'if (taken !== null)',
    to: 'if (taken !== null && !taken)',
    spec: MIGRATING,
    test: 'refuses an id that a job of either pool has',
  },
  {
    name: 'migrating: no circles',
    file: 'src/config/migrations.ts',
    from: ' ?? circleOf(name, migrations)',
    to: '',
    spec: 'src/config/load.spec.ts',
    test: 'refuses pools that move round in a circle',
  },
  {
    name: 'a key of the old pool is known in the new one: publish',
    file: 'src/engine/migration/migrating-queues.ts',
    from: "{ kind: 'publish', queue, jobs: [job] }, options);",
    to: "{ kind: 'publish', queue, jobs: [job] }, {});",
    spec: MIGRATING,
    test: 'knows what was published under a key',
  },
  {
    name: 'a key of the old pool is known in the new one: publish many',
    file: 'src/engine/migration/migrating-queues.ts',
    from: 'return before ?? this.next.publishMany',
    to: 'return this.next.publishMany',
    spec: MIGRATING,
    test: 'knows what was published under a key',
  },
  {
    name: 'another request under a key of the old pool is refused',
    file: 'src/engine/publish/idempotency-records.ts',
    from: 'if (reply.found === RECORD_OF_ANOTHER_REQUEST) throw keyReused();',
    to: 'if (reply.found === RECORD_OF_ANOTHER_REQUEST) return null;',
    spec: MIGRATING,
    test: 'refuses another request under a key',
  },
  {
    name: 'what the old pool has under a key is as durable as is asked for',
    file: 'src/engine/engine.ts',
    from: 'return found && findIdempotencyRecord(publishers.runnerOf(durability), namespace, record);',
    to: 'return found;',
    spec: MIGRATING,
    test: 'only if it is as durable there',
  },
];
