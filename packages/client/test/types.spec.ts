import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from '../../../test/support/packed.js';

/** What each program below begins with. */
const PRELUDE = `
import { defineJob, Pumphouse, type JobDefinition, type NewJob, type WorkerOptions } from '@pumphouse/client';
import { z } from 'zod';

const options = { url: 'http://127.0.0.1:7777', namespace: 'demo', token: 'a-token' };
const pumphouse = new Pumphouse(options);
const sendMail = defineJob({
  queue: 'mail',
  type: 'welcome',
  input: z.object({ to: z.string(), copies: z.number().optional() }),
  output: z.string(),
});
const cleanUp = defineJob({ queue: 'files' });
const worker = pumphouse.worker({ concurrency: 2 });
export { cleanUp, pumphouse, sendMail, worker };
export type { JobDefinition, NewJob, WorkerOptions };
`;

/** Calls that are right; with variables of the environment, which may be undefined. */
const RIGHT = `
const maybe = process.env['MAYBE'];
const number = maybe === undefined ? undefined : Number(maybe);
const signal = maybe === undefined ? undefined : AbortSignal.timeout(1);
const limits = { tries: number, withinMs: number };
export const other = new Pumphouse({ url: maybe, namespace: maybe, token: maybe, retry: limits, tls: undefined, maxAnswerBytes: number });
export const all = async (): Promise<unknown[]> => [
  await pumphouse.publish(sendMail, { to: 'ada' }),
  await pumphouse.publish(sendMail, { to: 'ada', copies: undefined }, { tries: number, signal, idempotencyKey: maybe, runAt: undefined }),
  await pumphouse.publish(cleanUp),
  await pumphouse.publish(cleanUp, { any: 1 }, { delayMs: number }),
  await pumphouse.publish({ queue: 'mail', type: maybe, data: 1, tries: number, retry: { kind: 'exponential', delayMs: 1, maxMs: number }, unique: { key: 'k', mode: undefined } }, { signal }),
  await pumphouse.publishMany([{ queue: 'mail', tags: undefined }], { signal, durability: maybe }),
  await pumphouse.publishAll(sendMail, [{ to: 'ada' }], { priority: number, signal }),
  await pumphouse.publishAndWait({ queue: 'mail' }, { waitMs: number }),
  await pumphouse.jobs.list({ queue: maybe, limit: number, state: undefined }, { signal }),
  await pumphouse.jobs.cancel('a', { graceMs: number, signal }),
  await pumphouse.queues.update('mail', { maxRunning: number, defaults: { tries: number } }, { signal }),
  await pumphouse.recurring.update('a', { note: maybe, job: { tries: number } }),
  await pumphouse.targets.put('a', { url: 'https://a.example', timeoutMs: number, breaker: { failures: number } }),
  await pumphouse.deadLetter.respawn({ filter: { queue: maybe }, limit: number }),
];
const { result } = await pumphouse.publishAndWait(sendMail, { to: 'ada' }, { waitMs: number });
export const text: string | undefined = result;
export const job: NewJob = { queue: 'mail', delayMs: number };
await pumphouse.publish(job);
/** Of any definition. */
export async function enqueue<In>(definition: JobDefinition<In>, input: In, tries?: number): Promise<string> {
  return (await pumphouse.publish(definition, input, { tries })).id;
}
export const workerOptions: WorkerOptions = { queues: undefined, name: maybe, logger: undefined, prefetch: number };
pumphouse
  .worker(workerOptions)
  .use((_job, _context, next) => next())
  .handle(sendMail, ({ data }) => data.to.trim())
  .handle(sendMail, async ({ data }, context) => {
    await context.progress({ sent: data.copies });
    return data.to;
  })
  .handle(cleanUp, () => undefined)
  .handle('welcome', ({ data }) => data)
  .handle('*', async () => undefined);
for await (const { event } of pumphouse.events({ queues: undefined, after: maybe, signal, onOpen: undefined })) console.log(event);
`;

const WRONG: readonly (readonly [mistake: string, code: string, firstLine: string | RegExp])[] = [
  [
    'data of a wrong type',
    `await pumphouse.publish(sendMail, { to: 5 });`,
    "Type 'number' is not assignable to type 'string'.",
  ],
  [
    'data without a field',
    `await pumphouse.publish(sendMail, {});`,
    /^Argument of type '\{\}' is not assignable to parameter of type '\{ to: string; copies\?/,
  ],
  [
    'data with an unknown field',
    `await pumphouse.publish(sendMail, { to: 'ada', cc: 'bob' });`,
    /'cc' does not exist in type '\{ to: string;/,
  ],
  ['no data', `await pumphouse.publish(sendMail);`, 'Expected 2-3 arguments, but got 1.'],
  [
    'a misspelt option beside a definition',
    `await pumphouse.publish(sendMail, { to: 'ada' }, { priorty: 1 });`,
    /'priorty' does not exist in type .*'priority'/,
  ],
  [
    'an option of a wrong type beside a definition',
    `await pumphouse.publish(sendMail, { to: 'ada' }, { tries: '5' });`,
    "Type 'string' is not assignable to type 'number'.",
  ],
  [
    'a misspelt option of a job',
    `await pumphouse.publish({ queue: 'mail', dealyMs: 5 });`,
    /'dealyMs' does not exist in type 'NewJob'.*'delayMs'/,
  ],
  [
    'a job without a queue',
    `await pumphouse.publish({ data: 5 });`,
    "Argument of type '{ data: number; }' is not assignable to parameter of type 'NewJob'.",
  ],
  [
    'an option of a wrong type in a job',
    `await pumphouse.publish({ queue: 'mail', tries: '5' });`,
    "Type 'string' is not assignable to type 'number'.",
  ],
  [
    'an unknown kind of retry policy',
    `await pumphouse.publish({ queue: 'mail', retry: { kind: 'fixd', delayMs: 5 } });`,
    /^Type '"fixd"' is not assignable to type '"none" \| "fixed" \|/,
  ],
  [
    'a misspelt option of the publish of a job',
    `await pumphouse.publish({ queue: 'mail' }, { idempotencykey: 'a' });`,
    /'idempotencykey' does not exist in type 'PublishOptions'.*'idempotencyKey'/,
  ],
  [
    'the name of a queue in place of a job',
    `await pumphouse.publish('mail', { to: 'ada' });`,
    /^Argument of type 'string' is not assignable to parameter of type/,
  ],
  [
    'data of a wrong type for publishAndWait',
    `await pumphouse.publishAndWait(sendMail, { to: 5 });`,
    "Type 'number' is not assignable to type 'string'.",
  ],
  [
    'a wait of a wrong type',
    `await pumphouse.publishAndWait(sendMail, { to: 'ada' }, { waitMs: '5s' });`,
    "Type 'string' is not assignable to type 'number'.",
  ],
  [
    'a result of another type',
    `const { result } = await pumphouse.publishAndWait(sendMail, { to: 'ada' }); export const n: number | undefined = result;`,
    "Type 'string | undefined' is not assignable to type 'number | undefined'.",
  ],
  [
    'the state of a changed job, which may be gone',
    `const { state } = await pumphouse.jobs.update('a', { tries: 5 }); export const name: string = state;`,
    "Type 'string | null' is not assignable to type 'string'.",
  ],
  [
    'a misspelt option in publishMany',
    `await pumphouse.publishMany([{ queue: 'mail', dealyMs: 5 }]);`,
    /'dealyMs' does not exist in type 'NewJob'.*'delayMs'/,
  ],
  [
    'data of a wrong type in publishAll',
    `await pumphouse.publishAll(sendMail, [{ to: 'ada' }, { to: 5 }]);`,
    "Type 'number' is not assignable to type 'string'.",
  ],
  [
    'a handler that returns a wrong result',
    `worker.handle(sendMail, () => 5);`,
    /^Type 'number' is not assignable to type 'Returned<string>|^Type '5' is not assignable to type/,
  ],
  [
    'an async handler that returns a wrong result',
    `worker.handle(sendMail, async ({ data }) => data.to.length);`,
    /^Type 'Promise<number>' is not assignable to type|^Type 'number' is not assignable to type/,
  ],
  [
    'a handler that uses an unknown field',
    `worker.handle(sendMail, ({ data }) => data.form);`,
    "Property 'form' does not exist on type '{ to: string; copies?: number | undefined; }'.",
  ],
  [
    'a queue in place of a definition',
    `worker.handle({ queue: 'mail' }, () => undefined);`,
    /^Argument of type '\{ queue: string; \}' is not assignable to parameter of type 'string \| AnyJobDefinition'/,
  ],
  ['no handler', `worker.handle(sendMail);`, 'Expected 2-3 arguments, but got 1.'],
  [
    'a misspelt option of a worker',
    `pumphouse.worker({ concurency: 5 });`,
    /'concurency' does not exist in type 'WorkerOptions'.*'concurrency'/,
  ],
  [
    'a misspelt option of the client',
    `new Pumphouse({ ...options, tokn: 'a' });`,
    /'tokn' does not exist in type 'PumphouseOptions'.*'token'/,
  ],
  [
    'a misspelt option of a definition',
    `defineJob({ queue: 'mail', ttl: 5 });`,
    /'ttl' does not exist in type 'JobDefinitionFields/,
  ],
];

const STRICT: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ['node'],
};
const NODE16: ts.CompilerOptions = {
  module: ts.ModuleKind.Node16,
  moduleResolution: ts.ModuleResolutionKind.Node16,
};
const BUNDLER: ts.CompilerOptions = {
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
};
const EXACT: ts.CompilerOptions = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
const ISOLATED: ts.CompilerOptions = { isolatedModules: true, verbatimModuleSyntax: true };

/** `skipLibCheck` is off: the declarations of the client are checked, too. Those of others are no subject of this. */
const SETTINGS: readonly (readonly [settings: string, options: ts.CompilerOptions])[] = [
  ['strict', {}],
  ['exactOptionalPropertyTypes and noUncheckedIndexedAccess', EXACT],
  ['isolatedModules and module resolution node16', { ...EXACT, ...ISOLATED, ...NODE16 }],
  ['isolatedModules and module resolution bundler', { ...EXACT, ...ISOLATED, ...BUNDLER }],
  ['the library of browsers', { ...EXACT, lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'] }],
];

/** The slowest of these takes seconds on an idle machine. */
const LIMIT_MS = 600_000;
const CLIENT = join(ROOT, 'packages', 'client', 'dist');

describe('the types of the built client', () => {
  let dir: string;
  beforeAll(() => {
    // Where the packages are found.
    dir = mkdtempSync(join(ROOT, 'node_modules', '.types-'));
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const write = (name: string, text: string): string => {
    const file = join(dir, name);
    writeFileSync(file, text);
    return file;
  };
  const lines = ({ messageText }: ts.Diagnostic): string[] =>
    ts.flattenDiagnosticMessageText(messageText, '\n').split('\n');

  it.each(SETTINGS)(
    'compile in a program with the compiler settings: %s',
    (_, options) => {
      const file = write('right.ts', PRELUDE + RIGHT);
      const program = ts.createProgram([file], { ...STRICT, ...options });
      const declarations = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(CLIENT));
      expect(declarations.length).toBeGreaterThan(10);
      const problems = [
        ...program.getOptionsDiagnostics(),
        ...program.getGlobalDiagnostics(),
        ...[program.getSourceFile(file), ...declarations].flatMap((source) => [
          ...program.getSyntacticDiagnostics(source),
          ...program.getSemanticDiagnostics(source),
        ]),
      ];
      expect(
        problems.map((problem) => `${problem.file?.fileName ?? ''}: ${lines(problem).join('\n')}`),
      ).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    'lead to one compiler error for each mistake in a call, whose first line names the mistake',
    () => {
      const files = WRONG.map(([, code], i) => write(`wrong${String(i)}.ts`, PRELUDE + code));
      const program = ts.createProgram(files, { ...STRICT, skipLibCheck: true });
      const found = ts.getPreEmitDiagnostics(program);
      const firstLines = files.map((file) =>
        found.filter((problem) => problem.file?.fileName === file).map((problem) => lines(problem)[0]),
      );
      expect(WRONG.map(([mistake], i) => [mistake, firstLines[i]])).toEqual(
        WRONG.map(([mistake, , line]) => [
          mistake,
          [typeof line === 'string' ? line : (expect.stringMatching(line) as string)],
        ]),
      );
      expect(found).toHaveLength(WRONG.length);
    },
    LIMIT_MS,
  );

  it(
    'complete names in an editor',
    () => {
      const cases: readonly (readonly [code: string, names: readonly string[]])[] = [
        [`await pumphouse.publish({ queue: 'mail', | });`, ['delayMs', 'data', 'retry']],
        [`await pumphouse.publish(sendMail, { | });`, ['to', 'copies']],
        [`await pumphouse.publish(sendMail, { to: 'a' }, { | });`, ['tries', 'idempotencyKey']],
        [`worker.handle(sendMail, ({ data }) => data.|);`, ['to', 'copies']],
        [`worker.handle(sendMail, (_job, { | }) => 'a');`, ['signal', 'progress']],
      ];
      const sources = new Map(
        cases.map(([code], i) => [join(dir, `editor${String(i)}.ts`), PRELUDE + code.replace('|', '')]),
      );
      const service = ts.createLanguageService({
        getCompilationSettings: () => ({ ...STRICT, skipLibCheck: true }),
        getScriptFileNames: () => [...sources.keys()],
        getScriptVersion: () => '1',
        getScriptSnapshot: (name) => {
          const source = sources.get(name) ?? ts.sys.readFile(name);
          return source === undefined ? undefined : ts.ScriptSnapshot.fromString(source);
        },
        getCurrentDirectory: () => dir,
        getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
        fileExists: (file) => ts.sys.fileExists(file),
        readFile: (file, encoding) => ts.sys.readFile(file, encoding),
        readDirectory: (...args) => ts.sys.readDirectory(...args),
      });
      const files = [...sources.keys()];
      for (const [i, [code, names]] of cases.entries()) {
        const at = PRELUDE.length + code.indexOf('|');
        const offered = service.getCompletionsAtPosition(files[i] ?? '', at, {});
        expect({ code, names: offered?.entries.map(({ name }) => name) }).toEqual({
          code,
          names: expect.arrayContaining([...names]) as unknown,
        });
      }
    },
    LIMIT_MS,
  );
});
