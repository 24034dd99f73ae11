const ENGINE = 'test/redis/engine.spec.ts';
const WAITING = 'test/redis/waiting.spec.ts';
const FAULTS = 'test/redis/faults.spec.ts';
const BATCHES = 'test/redis/batches.spec.ts';
const EXPIRY = 'test/redis/expiry.spec.ts';
const PROPERTIES = 'test/redis/properties.spec.ts';

/**
 * Leases: given once, given back when nobody got them, and told from stale ones.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const LEASES = [
  {
    name: 'undo: a lease that reached nobody goes back to its line',
    file: 'lua/lib/give_back.lua',
    from: 'local ours = job and',
    to: 'local ours = false and job and',
    spec: ENGINE,
    test: 'puts what is undone back',
  },
  {
    name: 'undo asks for the lease number: what has moved on stays',
    file: 'lua/lib/give_back.lua',
    from: ' and job.lease == lease',
    to: '',
    spec: ENGINE,
    test: 'does not undo what has moved on',
  },
  {
    name: 'undo when the consumer went while Redis ran its reserve',
    file: 'src/engine/leases.ts',
    from: 'if (jobs.length > 0 && signal?.aborted) {',
    to: 'if (jobs.length < 0 && signal?.aborted) {',
    spec: WAITING,
    test: 'gives back what was leased while it went, its wait being 0 ms',
  },
  {
    name: 'undo when the waiter went while it was being served',
    file: 'src/engine/waiting-room.ts',
    from: 'else this.giveBack(namespace, jobs);',
    to: '',
    spec: WAITING,
    test: 'gives back what was leased while it went, its wait being 5000 ms',
  },
  {
    name: 'the end waits for leases that are under way',
    file: 'src/engine/in-flight.ts',
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
    spec: 'test/e2e/disconnect.spec.ts',
    test: 'give a try back that was spent on a big answer',
  },
  {
    name: 'an answer is out of danger when the system has all of it, not before',
    file: 'src/jobs/delivery.ts',
    from: 'response.writableLength === 0 && ',
    to: '',
    spec: 'test/e2e/disconnect.spec.ts',
    test: 'give a try back that was spent on a big answer',
  },
  {
    name: 'undo when the answer did not come about',
    file: 'src/jobs/delivery.ts',
    from: ' || !response.writableEnded',
    to: '',
    spec: 'test/e2e/hot-lane.spec.ts',
    test: 'gives jobs back that it could not put into an answer',
  },
  {
    name: 'a script gives a job out once, whatever places it finds',
    file: 'lua/lib/take_here.lua',
    from: ' and not leased[id]',
    to: '',
    spec: PROPERTIES,
    test: 'is given out once',
  },
  {
    name: 'reserve-or-register is one step',
    file: 'src/engine/leases.ts',
    from: 'const run = this.runner.run(script as typeof reserveScript, namespace, args, items, late);',
    to: `const apart = items.map((item) => [...item.slice(0, 4), '0']);
    const flags = items.map(([names = '', , enough = 1, ttr = 0]) => [names, 0, enough, ttr, '1']);
    const run = this.runner.run(script as typeof reserveScript, namespace, args, apart, late).then(async (reply) => {
      await this.runner.run(reserveScript, namespace, { ...args, record: '' }, flags);
      return reply;
    });`,
    spec: WAITING,
    test: 'is registered in the step that found nothing',
  },
  {
    name: 'fencing: an acknowledgement must name the present lease',
    file: 'lua/lib/verdict.lua',
    from: 'return state == LEASED and present == lease and "1" or "2"',
    to: 'return "1"',
    spec: ENGINE,
    test: 'D8: ',
  },
  {
    name: 'expiry is looked at when a job is taken',
    file: 'lua/lib/take_here.lua',
    from: ' or expires > 0 and expires <= now_floor then',
    to: ' then',
    spec: ENGINE,
    test: 'D4: ',
  },
  {
    name: 'expiry is looked at when a job is acknowledged',
    file: 'lua/scripts/ack.lua',
    from: '(seen[id] or expires > 0 and expires <= floor) then',
    to: 'seen[id] then',
    spec: EXPIRY,
    test: 'cannot be acknowledged',
  },
  {
    name: 'the try that is spent counts',
    file: 'lua/lib/move_due.lua',
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
    file: 'src/engine/questions.ts',
    from: 'queues.every((queue) => lastFor.get(queue) === known)',
    to: 'known',
    spec: BATCHES,
    test: 'do not overtake',
  },
  {
    name: 'who wants more than an answer holds asks again',
    file: 'lua/scripts/reserve.lua',
    from: 'reply[found_at] = again and -1 - found or found',
    to: 'reply[found_at] = found',
    spec: BATCHES,
    test: 'that want more than one answer may hold ask again',
  },
];
