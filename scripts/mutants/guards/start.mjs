const SURROUNDINGS = 'test/api/health.spec.ts';

/**
 * How a server starts.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const START = [
  {
    name: "set-up: a machine's own policy for services stays",
    file: 'scripts/setup/machine.mjs',
    from: "policy: existsSync(join(root, 'usr/sbin/policy-rc.d'))",
    to: 'policy: false',
    spec: 'scripts/setup/redis.spec.mjs',
    test: 'takes back no more than it did',
  },
  {
    name: 'set-up: a service whose package was there stays',
    file: 'scripts/setup/machine.mjs',
    from: "packaged: isPackaged('redis-server', root)",
    to: 'packaged: false',
    spec: 'scripts/setup/redis.spec.mjs',
    test: 'takes back no more than it did',
  },
  {
    name: 'start: every Redis is looked at before workers begin',
    file: 'src/app/surroundings.ts',
    from: 'map(([name, options]) => checkPool(name, options))',
    to: 'slice(0, 1).map(([name, options]) => checkPool(name, options))',
    spec: SURROUNDINGS,
    test: 'is looked at before workers begin',
  },
  {
    name: 'start: the Redis of the tokens is looked at before workers begin',
    file: 'src/app/surroundings.ts',
    from: 'if (tokens !== undefined) checks',
    to: 'if (tokens === null) checks',
    spec: SURROUNDINGS,
    test: 'is looked at before workers begin',
  },
  {
    name: 'start: the admin port is tried before workers begin',
    file: 'src/app/surroundings.ts',
    from: 'server.listen({ host, port }',
    to: 'server.listen({ host, port: port * 0 }',
    spec: SURROUNDINGS,
    test: 'has an admin port that no other process has',
  },
  {
    name: 'start: code is optimised again when the server serves',
    file: 'src/app/start-flags.ts',
    from: 'setFlagsFromString(`--${compiler}`)',
    to: 'setFlagsFromString(`--no-${compiler}`)',
    spec: 'src/app/start-flags.spec.ts',
    test: 'optimises nothing until it is over',
  },
  {
    id: 'not-ready-while-starting',
    name: 'start: /readyz fails until the admin port is open',
    off: 'remove',
    spec: 'src/health/indicators.spec.ts',
    test: 'the drain indicator of /readyz › is %s for %j',
  },
];
