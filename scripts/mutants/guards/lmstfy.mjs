const REQUESTS = 'test/api/requests.spec.ts';
const IMPORT = 'test/api/import-lmstfy.spec.ts';
const HABITS = 'HTTP connections › lmstfy clients';

/**
 * What clients and operators of lmstfy rely on.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const LMSTFY = [
  {
    id: 'pipelined-unsafe-waits',
    name: 'pipelines: a request that changes something waits for the answers before it',
    off: 'true',
    spec: REQUESTS,
    test: `${HABITS} › pipeline a publish behind a stream of events, which ends with its connection`,
  },
  {
    id: 'pipelined-consume-is-unsafe',
    name: "pipelines: nothing is served beside lmstfy's consume, a GET that leases",
    off: 'true',
    spec: REQUESTS,
    test: `${HABITS} › pipeline a consume and the size, in their order: %s`,
  },
  {
    id: 'pipelined-behind-unsafe-waits',
    name: 'pipelines: a safe request waits for an earlier one that changes something',
    off: 'true',
    spec: REQUESTS,
    test: `${HABITS} › pipeline %i publishes and a size call, which are served in order`,
  },
  {
    id: 'fast-path-leaves-foreign-codings',
    name: 'bodies: the fast path stores no body in a coding that it cannot decode',
    off: 'false',
    spec: REQUESTS,
    test: 'bad input › malformed requests › get the expected answers, hide no second request and log no error: %s',
  },
  {
    id: 'import-refuses-same-redis',
    name: "import: no job goes into lmstfy's own Redis by mistake",
    off: 'false',
    spec: IMPORT,
    test: "pumphouse import-lmstfy › refuses lmstfy's own Redis as the target, by %s",
  },
  {
    id: 'import-refuses-redis-of-file',
    name: "import: no token goes into the AdminRedis of lmstfy's file by mistake",
    off: 'true',
    spec: IMPORT,
    test: "pumphouse import-lmstfy › refuses the AdminRedis of lmstfy's file as the target of tokens, unless --same-redis or tokens.url is given",
  },
  {
    id: 'import-needs-a-yes',
    name: 'import: without a terminal it writes only with --yes',
    off: 'false',
    spec: IMPORT,
    test: 'pumphouse import-lmstfy › writes nothing without a confirmation on a terminal, or without --yes elsewhere',
  },
  {
    id: 'drain-has-two-rounds',
    name: 'import: a job that lmstfy moves while it is read is found in a second round',
    off: 'true',
    spec: 'test/engine/import.spec.ts',
    test: 'an import that is resumed › a drain of a lmstfy server › finds every job although the server %s between its two reads',
  },
  {
    id: 'lmstfy-password-stays',
    name: "configuration: the password of lmstfy's Redis is not used for another one",
    off: 'true',
    spec: 'src/config/lmstfy-dialect.spec.ts',
    test: "the configuration file of a lmstfy server › a lmstfy file with another Redis in the environment › sets no password and no database of lmstfy's Redis for the other Redis",
  },
  {
    id: 'lmstfy-start-flags',
    name: "start: lmstfy's flags start the server",
    off: 'false',
    spec: 'src/app/lmstfy-flags.spec.ts',
    test: "lmstfy's start flags › are removed from the arguments %j with a warning for each flag, and other arguments stay",
  },
  {
    id: 'probes-by-head-under-any-name',
    name: 'probes: HEAD is answered on the admin port by any host name',
    off: 'remove',
    spec: 'test/api/health.spec.ts',
    test: 'HTTP API for operations › probes › answer HEAD of %s as GET without a body, on both ports, with any Host header',
  },
  {
    id: 'dead-reason-is-a-header-value',
    name: 'lmstfy: the group of a failure is encoded for its header',
    off: 'unwrap',
    spec: 'test/api/poison.spec.ts',
    test: 'a job that kills its worker each time › is shown with the group of its failure if the native API failed it',
  },
  ...[
    ['respawn-counts-what-is-done', 'respawn'],
    ['delete-counts-what-is-done', 'delete'],
  ].map(([id, verb]) => ({
    id: String(id),
    name: `lmstfy: a ${String(verb)} of dead jobs keeps its limit when its queue becomes an extended one`,
    off: {
      replace: `const others = await this.extended.all(limit, (rest, cursor) =>
          this.extended.${String(verb)}(namespace, { queue }, ${verb === 'respawn' ? 'options, ' : ''}rest, cursor),
        );`,
    },
    spec: 'test/engine/engine.spec.ts',
    test: 'the engine › keeps the limit of a %s during which its queue becomes an extended one',
  })),
];
