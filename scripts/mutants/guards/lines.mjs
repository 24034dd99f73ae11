const ENGINE = 'test/redis/engine.spec.ts';
const BATCHES = 'test/redis/batches.spec.ts';
const EXPIRY = 'test/redis/expiry.spec.ts';
const GHOSTS = 'test/redis/scripts-ghosts.spec.ts';
const PROPERTIES = 'test/redis/properties.spec.ts';

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
    file: 'lua/lib/next_live.lua',
    from: ' or place ~= string.byte(entry, -1)',
    to: '',
    spec: PROPERTIES,
    test: 'stands where its new life begins',
  },
  {
    name: 'queue number: a place in another queue is a ghost for who takes',
    file: 'lua/lib/next_live.lua',
    from: ' or number ~= line.number',
    to: '',
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
];
