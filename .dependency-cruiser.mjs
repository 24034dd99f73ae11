/**
 * Which folder may import which (docs/architecture.md). Data flows one way: a folder imports only folders of a lower rank, types included, and no
 * imports form a circle. `npm run lint` checks it.
 */

/** Folders of src/ by rank; those of one rank are feature modules, which do not import each other. */
const RANKS = [
  ['domain'],
  ['contract'],
  ['config'],
  ['redis'],
  ['engine'],
  ['metrics'],
  ['http'],
  ['auth'],
  [
    ...[
      'jobs',
      'deadletter',
      'pump',
      'queues',
      'recurring',
      'events',
      'sessions',
      'stats',
      'settings',
      'explain',
    ],
    ...['admin', 'console', 'health', 'openapi', 'push'],
  ],
  ['later', 'operations'],
  ['app'],
];
/** The first rank that knows what a feature does. */
const FEATURES = RANKS.findIndex((names) => names.includes('jobs'));
/** Folders of src/engine likewise. Files at its root see all of them; `moving` sees the root, too. */
const ENGINE_RANKS = [
  ['core'],
  ['timers'],
  ['history'],
  ['events', 'queues', 'stats', 'maintenance'],
  ['publish'],
  ['settle', 'recurring'],
  ['lease', 'jobs'],
  ['dead-letter', 'explain', 'operations'],
];

const dirs = (base, names) => `^${base}/(${names.join('|')})/`;

/** A rule for each rank: nothing of an equal or a higher rank, but itself. */
const upward = (base, ranks) =>
  ranks.flatMap((names, i) =>
    names.map((name) => ({
      name: `${base}/${name} imports lower ranks only`,
      severity: 'error',
      from: { path: `^${base}/${name}/` },
      to: { path: dirs(base, ranks.slice(i).flat()), pathNot: `^${base}/${name}/` },
    })),
  );

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    { name: 'no circles', severity: 'error', from: {}, to: { circular: true } },
    ...upward('src', RANKS),
    ...upward('src/engine', ENGINE_RANKS),
    {
      name: 'every folder has a rank',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/[^/]+$|${dirs('src', RANKS.flat())}` },
      to: {},
    },
    {
      name: 'parts of the engine do not import its root',
      severity: 'error',
      from: { path: dirs('src/engine', ENGINE_RANKS.flat()) },
      to: { path: '^src/engine/[^/]+$|^src/engine/moving/' },
    },
    {
      name: 'the Lua loader knows no script',
      severity: 'error',
      from: { path: '^src/redis/lua/' },
      to: { path: '^src/', pathNot: '^src/redis/lua/' },
    },
    {
      name: 'Redis and the engine know nothing of Nest',
      severity: 'error',
      from: {
        path: '^src/(domain|contract|redis|engine)/|^packages/engine/|^packages/cli/src/import/',
        pathNot: '^src/redis/redis\\.module\\.ts$',
      },
      to: { path: '^node_modules/@nestjs/|^src/redis/redis\\.module\\.ts$' },
    },
    {
      name: 'the server imports no package of this repository',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^packages/' },
    },
    {
      name: 'the in-process client is for programs without a server',
      severity: 'error',
      from: { path: '^packages/engine/src/' },
      to: { path: '^src/|^packages/cli/', pathNot: dirs('src', ['domain', 'contract', 'redis', 'engine']) },
    },
    {
      name: 'the client runs in browsers: only its Node.js entry and its test kit know Node.js',
      severity: 'error',
      from: { path: '^packages/client/src/', pathNot: '/(node|transport/node-transport)\\.ts$|/testing/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'the client needs no package, and nothing of the server',
      severity: 'error',
      from: { path: '^packages/client/src/' },
      to: { path: '^node_modules/|^src/' },
    },
    {
      name: 'the client itself does not need its test kit or its Node.js transport',
      severity: 'error',
      from: { path: '^packages/client/src/', pathNot: '/testing/|/node\\.ts$' },
      to: { path: '^packages/client/src/(testing/|transport/node-transport)' },
    },
    {
      name: 'the command line starts fast: it knows domain, configuration and declared fields',
      severity: 'error',
      from: { path: '^packages/cli/src/([^/]+|commands/[^/]+)$' },
      to: { path: '^src/|^packages/engine/', pathNot: dirs('src', ['domain', 'config', 'contract']) },
    },
    {
      name: 'the import from lmstfy knows no feature of the server',
      severity: 'error',
      from: { path: '^packages/cli/src/import/' },
      to: { path: `${dirs('src', RANKS.slice(FEATURES).flat())}|^packages/engine/` },
    },
  ],
  options: {
    exclude: { path: '^packages/[^/]+/dist/' },
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    detectJSDocImports: false,
    enhancedResolveOptions: {
      extensions: ['.ts', '.js'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types'],
    },
  },
};
