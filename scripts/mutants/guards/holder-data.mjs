const DATA = 'test/engine/new-data.spec.ts';
const LEASES = 'test/api/native-leases.spec.ts';
const STATE = 'src/redis/lua/state.ts';
const STATE_SPEC = 'src/redis/lua/state.spec.ts';

/**
 * New data with the last operation of a lease holder, what a lost lease is told, and what a library of Redis forgets between two calls.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const HOLDER_DATA = [
  {
    name: 'new data: an ack stores them with a job that is kept',
    file: 'lua/modules/leases/acknowledge.lua',
    from: 'replace_data(job, options, data)\n    put(job, "keep", keep_ms)',
    to: 'put(job, "keep", keep_ms)',
    spec: DATA,
    test: 'come with an ack of a job that is kept',
  },
  {
    name: 'new data: an ack stores them with a job that moves',
    file: 'lua/modules/leases/acknowledge.lua',
    from: 'replace_data(job, options, data)\n    return move_on',
    to: 'return move_on',
    spec: DATA,
    test: 'come with an ack that moves the job',
  },
  {
    name: 'new data: the result of an ack comes behind them',
    file: 'lua/modules/leases/acknowledge.lua',
    from: 'data and string.sub(bytes, options.data_bytes + 1) or bytes',
    to: 'bytes',
    spec: DATA,
    test: 'come with an ack of a job that is kept',
  },
  {
    name: 'new data: retry and fail store them',
    file: 'lua/modules/leases/failures.lua',
    from: 'if options.has_data then',
    to: 'if false then',
    spec: DATA,
    test: 'come with (?:retry|fail), to the last byte',
  },
  {
    name: 'new data: they have the content type of the call',
    file: 'lua/modules/leases/failures.lua',
    from: 'replace_typed_body(job, data, options.ctype)',
    to: 'replace_body(job, data)',
    spec: DATA,
    test: 'come with (?:retry|fail), to the last byte',
  },
  {
    name: 'new data: a call without them leaves those of the job',
    file: 'lua/modules/leases/failures.lua',
    from: 'if options.has_data then',
    to: 'if true then',
    spec: DATA,
    test: 'stay out where there are none',
  },
  {
    name: 'lease lost: a token for some queues learns no state of a job in another one',
    file: 'src/jobs/jobs.service.ts',
    from: 'throw error instanceof LeaseLostError ? await this.leaseLost(caller, id, error) : error;',
    to: 'await Promise.resolve([caller, id]);\n      throw error;',
    spec: LEASES,
    test: 'does not learn the state of a job that has moved to another queue: (?:heartbeat|release)',
  },
  {
    name: 'lease lost: the state is looked up only in the queues of the token',
    file: 'src/jobs/jobs.service.ts',
    from: 'const isIn = (queue: string): boolean => isForQueue(caller.rights, queue);',
    to: "const isIn = (queue: string): boolean => queue !== '';",
    spec: LEASES,
    test: 'does not learn the state of a job that has moved to another queue',
  },
  {
    name: 'lease lost: a single call is told the state of the job',
    file: 'src/engine/settle/lease-operations.ts',
    from: 'throw new LeaseLostError(one.state);',
    to: 'throw new LeaseLostError();',
    spec: LEASES,
    test: 'is told where the job is that it has lost: (?:heartbeat|release)',
  },
  {
    name: 'lease lost: an expired job is gone',
    file: 'lua/commands/extended/settle.lua',
    from: 'not job.is_gone and not is_expired(job)',
    to: 'not job.is_gone',
    spec: 'test/engine/expired-leases.spec.ts',
    test: 'answers a lost lease with the state that the job has meanwhile',
  },
  {
    name: 'lease lost: a single ack is told the state of the job',
    file: 'src/jobs/jobs.service.ts',
    from: "if (status === 'lease_lost') throw await this.leaseLost(caller, ack.id);",
    to: "if (status === 'lease_lost') throw new LeaseLostError();",
    spec: LEASES,
    test: 'is told where the job is that it has lost: ack',
  },
  {
    name: 'lease lost: acks of many are told the state of the job',
    file: 'src/jobs/jobs.service.ts',
    from: 'const states = lost.length === 0 ? [] : await this.statesOf(caller, lost);',
    to: 'const states = await this.statesOf(caller, lost.slice(0, 0));',
    spec: LEASES,
    test: 'acknowledges many, some with a result and some that go on',
  },
  {
    name: 'library: variables of modules begin anew with each call',
    file: 'src/redis/lua/loader.ts',
    from: 'for i = 1, #${RESETS} do ${RESETS}[i]() end\\n',
    to: '',
    spec: 'test/engine/noscript.spec.ts',
    test: 'functions that Redis has forgotten are sent once as text',
  },
  {
    name: 'library: variables without a value begin with none',
    file: STATE,
    from: ': `${names} = nil\\n`);',
    to: ": '');",
    spec: STATE_SPEC,
    test: 'keeps its functions, and sets its variables at the beginning of each call',
  },
  {
    name: 'library: exports that a call has set do not outlive it',
    file: STATE,
    from: "if (rest.length > 0) resets.unshift(`${rest.join(', ')} = nil\\n`);",
    to: '',
    spec: STATE_SPEC,
    test: 'begins each call without what an earlier one put into its exports',
  },
  {
    name: 'library: what a function computes is no constant',
    file: STATE,
    from: " && !text.includes('(');",
    to: ';',
    spec: STATE_SPEC,
    test: 'keeps constants as they are, but for what a function computes',
  },
];
