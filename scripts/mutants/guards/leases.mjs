const ENGINE = 'test/engine/engine.spec.ts';
const WAITING = 'test/engine/leasing.spec.ts';
const FAULTS = 'test/engine/faults.spec.ts';
const BATCHES = 'test/engine/batches.spec.ts';
const EXPIRY = 'test/engine/expiry.spec.ts';
const EXPECTED = 'test/engine/expected-jobs.spec.ts';
const LATE = 'test/engine/extended-jobs.spec.ts';
const PROPERTIES = 'test/engine/properties.spec.ts';

/**
 * Leases: given once, undone when they did not reach the client, and distinguished from stale ones.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const LEASES = [
  {
    name: 'undo: a job whose lease did not reach the client goes back to its ready list',
    file: 'lua/modules/jobs/deliveries.lua',
    from: 'local is_ours = job and',
    to: 'local is_ours = false and job and',
    spec: ENGINE,
    test: 'puts what is undone back',
  },
  {
    name: 'undo asks for the lease number: what has moved on stays',
    file: 'lua/modules/jobs/deliveries.lua',
    from: ' and job.lease == lease',
    to: '',
    spec: ENGINE,
    test: 'does not undo what has moved on',
  },
  {
    name: 'undo when the consumer went while Redis ran its lease script',
    file: 'src/engine/lease/leases.ts',
    from: 'if (jobs.length > 0 && signal?.aborted) {',
    to: 'if (jobs.length < 0 && signal?.aborted) {',
    spec: WAITING,
    test: 'gives back what was leased while it went, its wait being 0 ms',
  },
  {
    name: 'undo when the waiter went while it was being served',
    file: 'src/engine/lease/long-poll-manager.ts',
    from: 'else this.giveBack(namespace, jobs);',
    to: '',
    spec: WAITING,
    test: 'gives back what was leased while it went, its wait being 5000 ms',
  },
  {
    name: 'nothing is leased for a client that has gone before the script is sent',
    file: 'src/engine/lease/fetch-requests.ts',
    from: 'return signal?.aborted !== true;',
    to: 'return signal?.aborted !== true || true;',
    spec: WAITING,
    test: 'leases nothing when it goes before the script is sent',
  },
  {
    name: 'the end waits for leases that are under way',
    file: 'src/engine/lease/in-flight.ts',
    from: 'while (this.count > 0) {',
    to: 'while (this.count < 0) {',
    spec: WAITING,
    test: 'gives back what it gets in the moment in which the server ends',
  },
  {
    name: 'undo when the connection closes before the answer has left',
    file: 'src/jobs/delivery.ts',
    from: '    this.settle?.(false);\n',
    to: '',
    spec: 'test/api/fast-path.spec.ts',
    test: 'give a try back that was spent on a big answer',
  },
  {
    name: 'an answer is out of danger when the system has all of it, not before',
    file: 'src/jobs/delivery.ts',
    from: 'response.writableLength === 0 && ',
    to: '',
    spec: 'test/api/fast-path.spec.ts',
    test: 'give a try back that was spent on a big answer',
  },
  {
    name: 'undo when the answer did not come about',
    file: 'src/jobs/delivery.ts',
    from: ' || !response.writableEnded',
    to: '',
    spec: 'test/api/fast-path.spec.ts',
    test: 'gives jobs back that it could not put into an answer',
  },
  {
    name: 'a script gives a job out once, whatever places it finds',
    file: 'lua/commands/simple/lease.lua',
    from: ' and not leased[id]',
    to: '',
    spec: PROPERTIES,
    test: 'is given out once',
  },
  {
    name: 'lease or register is one step',
    file: 'src/engine/lease/leases.ts',
    from: 'const run = this.runner.run(script as typeof leaseScript, namespace, args, items, late);',
    to: `const apart = items.map((item) => [...item.slice(0, 4), '0']);
    const flags = items.map(([names = '', , enough = 1, ttr = 0]) => [names, 0, enough, ttr, '1']);
    const run = this.runner.run(script as typeof leaseScript, namespace, args, apart, late).then(async (reply) => {
      await this.runner.run(leaseScript, namespace, { ...args, record: '' }, flags);
      return reply;
    });`,
    spec: WAITING,
    test: 'is registered in the step that found nothing',
  },
  {
    name: 'fencing: an acknowledgement must name the present lease',
    file: 'lua/commands/simple/ack.lua',
    from: 'return present == lease and is_held and "1" or "2"',
    to: 'return "1"',
    spec: ENGINE,
    test: 'D8: ',
  },
  {
    name: 'expiry is looked at when a job is taken',
    file: 'lua/commands/simple/lease.lua',
    from: ' or expires > 0 and expires <= now_floor then',
    to: ' then',
    spec: ENGINE,
    test: 'D4: ',
  },
  {
    name: 'expiry is looked at when a job is acknowledged',
    file: 'lua/commands/simple/ack.lua',
    from: 'seen[id] or expires > 0 and expires <= floor) then',
    to: 'seen[id]) then',
    spec: EXPIRY,
    test: 'cannot be acknowledged',
  },
  {
    name: 'the try that is spent counts',
    file: 'lua/commands/maintenance/pump.lua',
    from: 'elseif kind == "l" and tries == 0 and not is_free then',
    to: 'elseif false then',
    spec: ENGINE,
    test: 'buries it when its tries are used up',
  },
  {
    name: 'undo of what a late reply of reserve brings',
    file: 'src/redis/calls.ts',
    from: 'else late?.(reply);',
    to: 'else void late;',
    spec: FAULTS,
    test: 'what a late reply of reserve brings',
  },
  {
    name: 'questions of one turn do not overtake one another',
    file: 'src/engine/lease/fetch-requests.ts',
    from: 'queues.every((queue) => lastFor.get(queue) === known)',
    to: 'known',
    spec: BATCHES,
    test: 'do not overtake',
  },
  {
    name: 'who wants more than an answer holds asks again',
    file: 'lua/commands/simple/lease.lua',
    from: 'reply[found_at] = again and -1 - found or found',
    to: 'reply[found_at] = found',
    spec: BATCHES,
    test: 'that want more than one answer may hold ask again',
  },
  {
    name: 'leases: the last lease holder of a simple job is heard in a batch until the next lease',
    file: 'lua/commands/simple/ack.lua',
    from: 'state == LEASED or (state == READY or state == DEAD) and attempts > 0',
    to: 'state == LEASED',
    spec: LATE,
    test: 'simple job acknowledges in a batch after the lease ran out',
  },
  {
    name: 'leases: the last lease holder of an extended job is heard until the next lease',
    file: 'lua/modules/leases/claims.lua',
    from: '(job.state == LEASED or is_late(job, verb))',
    to: 'job.state == LEASED',
    spec: LATE,
    test: 'extended job is heard after the lease ran out: ack',
  },
  {
    name: 'leases: a simple job that was never leased has no last lease holder',
    file: 'lua/commands/simple/ack.lua',
    from: ' and attempts > 0',
    to: '',
    spec: LATE,
    test: 'former job before its first lease: simple',
  },
  {
    name: 'leases: an extended job that was never leased has no last lease holder',
    file: 'lua/modules/leases/claims.lua',
    from: ' and job.attempts > 0 and',
    to: ' and',
    spec: LATE,
    test: 'former job before its first lease: extended',
  },
  {
    name: 'leases: an undo that comes after the lease ran out changes nothing',
    file: 'lua/modules/leases/claims.lua',
    from: ' and verb ~= "undo"',
    to: '',
    spec: LATE,
    test: 'is not heard when the answer of the lease never left',
  },
  {
    name: 'leases: a respawned simple job has no last lease holder',
    file: 'lua/commands/simple/respawn.lua',
    from: 'jobs[id].lease = lease % 4294967296',
    to: 'jobs[id].lease = jobs[id].lease % 4294967296',
    spec: LATE,
    test: 'simple job is accepted when the job died with its lease',
  },
  {
    name: 'leases: a single waiter fetches right behind the publish of its process',
    file: 'src/engine/publish/publisher.ts',
    from: 'if (isReadyAtOnce(job)) expectJob(namespace,',
    to: 'if (jobs.length < 0) expectJob(namespace,',
    spec: EXPECTED,
    test: 'needs no wake-up',
  },
  {
    name: 'leases: nothing is fetched for a job that is not ready yet',
    file: 'src/engine/publish/publisher.ts',
    from: 'if (isReadyAtOnce(job)) expectJob(namespace,',
    to: 'expectJob(namespace,',
    spec: EXPECTED,
    test: 'that is not ready yet is not fetched',
  },
  {
    name: 'leases: several waiters share the fetch of the wake-up',
    file: 'src/engine/lease/long-poll-manager.ts',
    from: 'waiters?.size !== 1 || !this.empty',
    to: '!waiters || !this.empty',
    spec: 'src/engine/lease/long-poll-manager.spec.ts',
    test: 'is left to the wake-up by several waiters',
  },
  {
    name: 'leases: nothing is fetched ahead while the store is unavailable',
    file: 'src/engine/lease/long-poll-manager.ts',
    from: ' || !this.empty.has(key) || this.checking',
    to: ' || this.checking',
    spec: 'src/engine/lease/long-poll-manager.spec.ts',
    test: 'while the store is known to be unavailable',
  },
  {
    name: 'leases: a waiter fetches ahead once',
    file: 'src/engine/lease/long-poll-manager.ts',
    from: 'waiter.isFetching || waiter.hasFetchedAhead',
    to: 'waiter.isFetching',
    spec: 'src/engine/lease/long-poll-manager.spec.ts',
    test: 'causes no second fetch of a waiter',
  },
];
