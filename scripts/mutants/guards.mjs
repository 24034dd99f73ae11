/**
 * The guards that keep jobs from being lost, doubled, early or late: how to switch each of them off by a change of text, and the test that
 * must fail then.
 *
 * @typedef {object} Guard
 * @property {string} name what is switched off
 * @property {string} file where it is
 * @property {string} from its text; occurs once in the file
 * @property {string} to what stands there when it is off
 * @property {string} spec the file of the test
 * @property {string} test its name, or a part of it, as a regular expression
 */

const ENGINE = 'test/redis/engine.spec.ts';
const WAITING = 'test/redis/waiting.spec.ts';
const PUMP = 'test/redis/pump.spec.ts';
const PROPERTIES = 'test/redis/properties.spec.ts';

/** @type {readonly Guard[]} */
export const GUARDS = [
  {
    name: 'undo: a lease that reached nobody goes back to its line',
    file: 'lua/scripts/undo.lua',
    from: 'local ours = job and',
    to: 'local ours = false and job and',
    spec: ENGINE,
    test: 'puts what is undone back',
  },
  {
    name: 'undo asks for the lease number: what has moved on stays',
    file: 'lua/scripts/undo.lua',
    from: ' and job.lease == lease',
    to: '',
    spec: ENGINE,
    test: 'does not undo what has moved on',
  },
  {
    name: 'undo when the consumer went while Redis ran its reserve',
    file: 'src/engine/leases.ts',
    from: 'if (jobs.length > 0 && request.signal?.aborted) {',
    to: 'if (jobs.length < 0 && request.signal?.aborted) {',
    spec: WAITING,
    test: 'gives back what was leased while it went, its wait being 0 ms',
  },
  {
    name: 'undo when the waiter went while it was being served',
    file: 'src/engine/waiting-room.ts',
    from: 'if (waiter.isOver) this.giveBack(waiter.namespace, jobs);',
    to: 'if (waiter.isOver) return true;',
    spec: WAITING,
    test: 'gives back what was leased while it went, its wait being 5000 ms',
  },
  {
    name: 'the end waits for leases that are under way',
    file: 'src/engine/leases.ts',
    from: 'while (this.underWay.size > 0) {',
    to: 'while (this.underWay.size < 0) {',
    spec: WAITING,
    test: 'gives back what it gets in the moment in which the server ends',
  },
  {
    name: 'undo when the connection closes before the answer has left',
    file: 'src/jobs/delivery.ts',
    from: '    this.undo?.();\n',
    to: '',
    spec: 'test/e2e/disconnect.spec.ts',
    test: 'give a try back that was spent on a big answer',
  },
  {
    name: 'entry number: an old place in the line is a ghost',
    file: 'lua/lib/next_live.lua',
    from: ' or job.entry ~= string.byte(entry, -1)',
    to: '',
    spec: PROPERTIES,
    test: 'stands where its new life begins',
  },
  {
    name: 'queue number: a place in another queue is a ghost',
    file: 'lua/scripts/sweep.lua',
    from: ' and job.queue == number',
    to: '',
    spec: PROPERTIES,
    test: 'leaves its place in another queue counted as a ghost',
  },
  {
    name: 'ghosts of a former life are passed over',
    file: 'lua/lib/line_up.lua',
    from: 'if not line.haunted or',
    to: 'if true or not line.haunted or',
    spec: PROPERTIES,
    test: 'stands where its new life begins',
  },
  {
    name: 'notify: a job that becomes ready wakes a waiter',
    file: 'lua/lib/notify.lua',
    from: 'if someone_waits and name and',
    to: 'if false and',
    spec: WAITING,
    test: 'gets a job that is published later, at once',
  },
  {
    name: 're-check: a waiter whose wake-up was lost looks again',
    file: 'src/engine/waiting-room.ts',
    from: 'void this.serve(key, 1);',
    to: '',
    spec: WAITING,
    test: 'although the wake-up was lost',
  },
  {
    name: 'a wake-up while a waiter asks makes it ask again',
    file: 'src/engine/waiting-room.ts',
    from: 'return waiter.isWoken && !waiter.isOver;',
    to: 'return false;',
    spec: WAITING,
    test: 'is registered in the step that found nothing',
  },
  {
    name: 'reserve-or-register is one step',
    file: 'src/engine/leases.ts',
    from: 'const { raw, nowMs } = await this.runner.run(reserveScript, namespace, args, items, late);',
    to: `const apart = items.map((item) => ({ ...item, waits: '0' }));
    const { raw, nowMs } = await this.runner.run(reserveScript, namespace, args, apart, late);
    await this.runner.run(reserveScript, namespace, args, items.map((item) => ({ ...item, count: 0 })));`,
    spec: WAITING,
    test: 'is registered in the step that found nothing',
  },
  {
    name: 'a wait longer than the longest timer',
    file: 'src/engine/waiting-room.ts',
    from: 'Math.min(Math.max(leftMs, 0), MAX_TIMER_MS)',
    to: 'Math.max(leftMs, 0)',
    spec: WAITING,
    test: 'D3: ',
  },
  {
    name: 'now_ceil: times begin at the end of the millisecond',
    file: 'lua/lib/now.lua',
    from: 'math.ceil(time[2] / 1000)',
    to: 'math.floor(time[2] / 1000)',
    spec: PUMP,
    test: 'never sets a time earlier than was asked for',
  },
  {
    name: 'an earlier due time moves the alarm forward',
    file: 'src/engine/pump.ts',
    from: '} else if (dueMs < alarm.dueMs) {',
    to: '} else if (dueMs < 0) {',
    spec: PUMP,
    test: 'T10: ',
  },
  {
    name: 'the sweep finds what a dead server left',
    file: 'src/engine/pump.ts',
    from: 'if (!Number.isNaN(dueMs)) this.arm(namespace, dueMs);',
    to: '',
    spec: PUMP,
    test: 'takes over',
  },
  {
    name: 'fencing: an acknowledgement must name the present lease',
    file: 'lua/scripts/ack.lua',
    from: 'return job.state == LEASED and job.lease == lease and 1 or 2',
    to: 'return 1',
    spec: ENGINE,
    test: 'D8: ',
  },
  {
    name: 'expiry is looked at when a job is met',
    file: 'lua/lib/job.lua',
    from: 'return job.expires > 0 and job.expires <= now_floor',
    to: 'return false',
    spec: ENGINE,
    test: 'D4: ',
  },
  {
    name: 'the try that is spent counts',
    file: 'lua/scripts/pump.lua',
    from: 'elseif how == "returned" and job.tries == 0 then',
    to: 'elseif false then',
    spec: ENGINE,
    test: 'buries it when its tries are used up',
  },
  {
    name: 'the namespace is on the list before it has its marker',
    file: 'src/engine/script-runner.ts',
    from: "await this.pool.read('SADD', this.pool.keys.namespaces, namespace);\n    await this.pool.run(register",
    to: 'await this.pool.run(register',
    spec: 'test/redis/scripts-register.spec.ts',
    test: 'is on the list before',
  },
  {
    name: 'a namespace is registered when a script refuses it',
    file: 'src/engine/script-runner.ts',
    from: 'if (reply.status === NOT_REGISTERED) {',
    to: 'if (reply.status === NOT_REGISTERED && namespace === "") {',
    spec: ENGINE,
    test: 'D17: ',
  },
  {
    name: 'token cache: its answers are good for a second',
    file: 'src/auth/token-cache.ts',
    from: 'if (ageMs < VALID_MS) {',
    to: 'if (ageMs < VALID_MS * 60) {',
    spec: 'src/auth/token-cache.spec.ts',
    test: 'D6: ',
  },
  {
    name: 'token cache: it holds so many and no more',
    file: 'src/auth/token-cache.ts',
    from: 'if (this.known.size > MAX_ENTRIES) this.dropOldest();',
    to: '',
    spec: 'src/auth/token-cache.spec.ts',
    test: 'remembers a bounded number of tokens',
  },
];
