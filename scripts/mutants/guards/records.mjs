const RECORDS = 'test/engine/records.spec.ts';
const E2E = 'test/api/durability.spec.ts';

/**
 * Records of leases whose answers may not have left: a job that no worker saw is not charged, and one that a worker saw
 * is.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const RECORD_GUARDS = [
  {
    name: 'records: leases are recorded in the step that gives them',
    file: 'lua/modules/jobs/deliveries.lua',
    from: 'if record ~= "" and size > 1 then',
    to: 'if false then',
    spec: RECORDS,
    test: 'expire uncharged when their server died',
  },
  {
    name: 'records: a lease that runs out is looked up before it is charged',
    file: 'lua/commands/maintenance/pump.lua',
    from: ' and is_undelivered(sending, id, value)',
    to: ' and false',
    spec: RECORDS,
    test: 'expire uncharged when their server died',
  },
  {
    name: 'records: they are of one lease, not of the job',
    file: 'lua/modules/jobs/deliveries.lua',
    from: 'return undelivered[string.sub(value, LEASE_FROM, QUEUE_FROM - 1) .. id]',
    to: 'for lease in pairs(undelivered) do if string.sub(lease, 5) == id then return true end end',
    spec: RECORDS,
    test: 'of one lease say nothing of the next',
  },
  {
    name: 'records: a job has three free retries, and no more',
    file: 'lua/commands/maintenance/pump.lua',
    from: 'free_retries < MAX_FREE_RETRIES',
    to: 'free_retries < 255',
    spec: RECORDS,
    test: 'are spared three times',
  },
  {
    name: 'records: the number of free retries is kept over an undo',
    file: 'lua/modules/core/header.lua',
    from: 'job.expires, job.free_retries)',
    to: 'job.expires, 0)',
    spec: RECORDS,
    test: 'are spared three times',
  },
  {
    name: 'records: what has left is taken out before this server pumps',
    file: 'src/engine/timers/pump.ts',
    from: '    this.deliveryLogs.flush(namespace);\n',
    to: '',
    spec: RECORDS,
    test: 'at once for its own server',
  },
  {
    name: 'records: what has left is taken out within a moment',
    file: 'src/engine/lease/delivery-logs.ts',
    from: '[...log.takeStale(this.ticks - 1), ...log.retired.splice(0)]',
    to: '[]',
    spec: RECORDS,
    test: 'for all servers within a moment',
  },
  {
    name: 'records: a batch has left when its last answer has',
    file: 'src/engine/lease/delivery-log.ts',
    from: '--this.callsLeft === 0',
    to: '--this.callsLeft >= 0',
    spec: RECORDS,
    test: 'are known until the last answer has left',
  },
  {
    name: 'records: a reserve whose reply was lost is given back',
    file: 'src/engine/lease/leases.ts',
    from: 'this.records.failed(batch, error)',
    to: 'void error',
    spec: RECORDS,
    test: 'is given back as soon as Redis can be reached',
  },
  {
    name: 'records: those of the dead go',
    file: 'lua/commands/maintenance/tidy.lua',
    from: 'if #ended > 0 then',
    to: 'if false then',
    spec: RECORDS,
    test: 'a record goes when its leases have long ended',
  },
  {
    name: 'records: none goes before the pump has seen it',
    file: 'lua/commands/maintenance/tidy.lua',
    from: 'is_behind and 0 or #some',
    to: '#some',
    spec: RECORDS,
    test: 'a record goes when its leases have long ended',
  },
  {
    name: 'records: none is left in a namespace that is forgotten',
    file: 'lua/commands/maintenance/unregister.lua',
    from: 'redis.call("DEL", meta, sending, ',
    to: 'redis.call("DEL", meta, meta, ',
    spec: RECORDS,
    test: 'in a namespace that is forgotten',
  },
  {
    name: 'records: an answer has left when the system has all of it, not before',
    file: 'src/jobs/lmstfy/fast-calls.lmstfy.ts',
    from: ', confirms: true',
    to: '',
    spec: E2E,
    test: 'stays while its client does not read it',
  },
  {
    name: 'records: an answer that has left is confirmed',
    file: 'src/jobs/delivery.ts',
    from: '      this.done();\n      settle(true);\n      return;\n',
    to: '      this.done();\n      return;\n',
    spec: E2E,
    test: 'goes when it has left',
  },
  {
    name: 'records: what is undone needs no record',
    file: 'src/engine/lease/leases.ts',
    from: '    for (const receipt of new Set(jobs.map((job) => job.receipt))) receipt?.arrived();\n',
    to: '',
    spec: E2E,
    test: 'goes when its client has gone',
  },
  {
    name: 'records: what has left is not taken back for a reserve that never ran',
    file: 'lua/commands/simple/reclaim_undelivered.lua',
    from: 'if not batch or batch[1] == left_ms then',
    to: 'if not batch then',
    spec: 'test/engine/records.spec.ts',
    test: 'takes nothing back of the one before',
  },
];
