const ENGINE = 'test/redis/engine.spec.ts';
const BATCHES = 'test/redis/batches.spec.ts';
const EXPIRY = 'test/redis/expiry.spec.ts';
const GHOSTS = 'test/redis/scripts-ghosts.spec.ts';
const PROPERTIES = 'test/redis/properties.spec.ts';
const READS = 'test/redis/reads.spec.ts';

/**
 * Lines and places: what counts in them, what has gone, and when it is looked at.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const LINES = [
  {
    name: 'entry number: an old place in the line is a ghost for who looks',
    file: 'lua/lib/job.lua',
    from: ' and job.entry == string.byte(entry, -1)',
    to: '',
    spec: PROPERTIES,
    test: 'stands where its new life begins',
  },
  {
    name: 'entry number: an old place in the line is a ghost for who takes',
    file: 'lua/lib/take_here.lua',
    from: ' and kind.place == byte(window[i], -1)',
    to: '',
    spec: PROPERTIES,
    test: 'stands where its new life begins',
  },
  {
    name: 'queue number: a place in another queue is a ghost for who takes',
    file: 'lua/lib/take_here.lua',
    from: 'kind.number == number and ',
    to: 'kind.number and ',
    spec: GHOSTS,
    test: 'is not given out',
  },
  {
    name: 'queue number: a place in another queue is a ghost for who looks',
    file: 'lua/lib/job.lua',
    from: ' and job.queue == number',
    to: '',
    spec: PROPERTIES,
    test: 'leaves its place in another queue counted as a ghost',
  },
  {
    name: 'ghosts of a former life are passed over',
    file: 'lua/lib/enter.lua',
    from: 'line.haunted and 255 or 0',
    to: 'false and 255 or 0',
    spec: PROPERTIES,
    test: 'stands where its new life begins',
  },
  {
    name: 'a due time moves only the job that it belongs to',
    file: 'lua/lib/move_due.lua',
    from: 'at == number and state == (kind == "s" and SCHEDULED or LEASED)',
    to: 'state > 0',
    spec: PROPERTIES,
    test: 'by the due time of a former life',
  },
  {
    name: 'expiry is looked at when a job is shown',
    file: 'lua/lib/job.lua',
    from: 'return job.expires > 0 and job.expires <= now_floor',
    to: 'return false',
    spec: EXPIRY,
    test: 'is not shown',
  },
  {
    name: 'expiry is looked at when a job is moved',
    file: 'lua/lib/move_due.lua',
    from: ' or expires > 0 and expires <= now_floor then',
    to: ' then',
    spec: ENGINE,
    test: 'drops an expired job wherever it is',
  },
  {
    name: 'a removal is planned once for each job',
    file: 'lua/lib/remove.lua',
    from: 'if not doomed[id] then',
    to: 'if true then',
    spec: BATCHES,
    test: 'put its expired life away once',
  },
  {
    name: 'a script that reads a line reads at most twice as far as it has looked',
    file: 'lua/lib/window.lua',
    from: 'math.min(math.max(last_size, FIRST_WINDOW) * 2, math.max(math.floor(WINDOW_BYTES * found / bytes), 1))',
    to: 'math.max(math.floor(WINDOW_BYTES * found / bytes), 1)',
    spec: READS,
    test: 'short: a line',
  },
  {
    name: 'ghosts tell a script nothing about the bodies that lie behind them',
    file: 'lua/lib/window.lua',
    from: 'if found > 0 then',
    to: 'next_size = WINDOW_BYTES\n  if found > 0 then',
    spec: READS,
    test: 'though every second place is a ghost',
  },
  {
    name: 'a script that acknowledges reads at most twice as many values as were short',
    file: 'lua/lib/read_values.lua',
    from: 'longest > 0 and size * 2 or size',
    to: '100',
    spec: READS,
    test: 'short: acknowledgements',
  },
  {
    name: 'a number of a line that has come round to 0 is kept',
    file: 'lua/lib/store.lua',
    from: '((entry or 1) == 1 and',
    to: '((entry or 0) < 2 and',
    spec: 'test/redis/scripts-ghosts.spec.ts',
    test: 'the one number that is free',
  },
  {
    name: 'attributes are read anew for each job',
    file: 'src/engine/publisher.ts',
    from: 'one.attributes === undefined &&\n    other.attributes === undefined &&',
    to: 'one.attributes === other.attributes &&',
    spec: 'test/redis/regressions.spec.ts',
    test: 'are kept as they were when each job was published',
  },
];
