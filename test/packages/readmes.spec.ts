import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeIn, GO_ENV, hasProgram, ROOT, run } from '../support/packed.js';

const LIMIT_MS = 600_000;
const whereThere = (program: string): jest.It => (hasProgram(program) ? it : it.skip);

/** What the TypeScript blocks of a README take from their surroundings, after their own imports. */
const DEFINITIONS = `
import { defineJob as define, Pumphouse as Client } from '@pumphouse/client';
import { z as zod } from 'zod';
`;
const SEND_MAIL = `
const sendMail = define({ queue: 'mail', type: 'welcome', input: zod.object({ to: zod.string() }) });
const handler = () => Promise.resolve();
`;
const SURROUNDINGS: Readonly<Record<string, string>> = {
  verify: 'declare const secret: string; declare const request: Request;',
  connect: SEND_MAIL,
  testWorker: `${SEND_MAIL}const Pumphouse = Client;`,
};

describe('the code of the READMEs of packages', () => {
  let dir: string;
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it(
    'compiles for packages/client',
    async () => {
      // Where the packages are found.
      dir = mkdtempSync(join(ROOT, 'node_modules', '.readme-'));
      const blocks = codeIn('packages/client/README.md', 'ts');
      expect(blocks).toHaveLength(4);
      const files = blocks.map((code, i) => {
        const [, first = ''] = /import \{ (\w+)/.exec(code) ?? [];
        const lastImport = code.lastIndexOf('\n', code.search(/^(?!import|$)/m)) + 1;
        const text = `${DEFINITIONS}${code.slice(0, lastImport)}${SURROUNDINGS[first] ?? ''}\n${code.slice(lastImport)}`;
        const file = join(dir, `block${String(i)}.ts`);
        writeFileSync(file, text);
        return file;
      });
      const flags = [
        '--ignoreConfig',
        '--noEmit',
        '--strict',
        '--target',
        'es2023',
        '--module',
        'nodenext',
        '--types',
        'node',
      ];
      await run(join(ROOT, 'node_modules', '.bin', 'tsc'), [...flags, '--skipLibCheck', ...files], dir);
    },
    LIMIT_MS,
  );

  whereThere('mypy')(
    'packages/python: has the types that mypy wants',
    async () => {
      dir = mkdtempSync(join(tmpdir(), 'pumphouse-readme-'));
      const blocks = codeIn('packages/python/README.md', 'python');
      const [worker = '', asyncio = '', publish = '', calls = '', webhook = ''] = blocks;
      const deliver = 'def deliver(to: str) -> int:\n    return len(to)\n\n\n';
      writeFileSync(join(dir, 'worker.py'), `${deliver}${worker}${calls}`);
      writeFileSync(join(dir, 'asynchronous.py'), asyncio);
      writeFileSync(join(dir, 'publish.py'), publish);
      const request =
        'class Request:\n    headers: dict[str, str] = {}\n    body = b""\n\n\nrequest, secret = Request(), ""\n';
      writeFileSync(join(dir, 'webhook.py'), `${request}${webhook}`);
      const env = { MYPYPATH: join(ROOT, 'packages', 'python', 'src') };
      const files = ['worker.py', 'asynchronous.py', 'publish.py', 'webhook.py'];
      expect(blocks).toHaveLength(5);
      await run('mypy', ['--strict', '--cache-dir', dir, ...files], dir, env);
    },
    LIMIT_MS,
  );

  whereThere('go')(
    'packages/go: compiles',
    async () => {
      dir = mkdtempSync(join(tmpdir(), 'pumphouse-readme-'));
      const [statement = '', worker = '', calls = '', webhook = ''] = codeIn('packages/go/README.md', 'go');
      mkdirSync(join(dir, 'packages'));
      cpSync(join(ROOT, 'packages', 'go'), join(dir, 'packages', 'go'), { recursive: true });
      writeFileSync(
        join(dir, 'go.mod'),
        'module example.com/readme\n\ngo 1.19\n\nrequire github.com/pumphouse/pumphouse/packages/go v0.2.0\n\n' +
          'replace github.com/pumphouse/pumphouse/packages/go => ./packages/go\n',
      );
      writeFileSync(
        join(dir, 'main.go'),
        [
          'package main\n',
          'import (\n\t"context"\n\t"fmt"\n\t"net/http"\n)\n',
          statement,
          'type Mail struct{ To string }\n',
          'func deliver(ctx context.Context, mail Mail) error { return ctx.Err() }\n',
          `func work(ctx context.Context, token string) error {\n${worker}\treturn err\n}\n`,
          `func call(ctx context.Context, client *pumphouse.Client) error {\n${calls}\treturn err\n}\n`,
          `func hook(request *http.Request, body []byte, secret string) (string, error) {\n${webhook}\treturn jobID, err\n}\n`,
          'func main() {}\n',
        ].join('\n'),
      );
      await run('go', ['vet', '.'], dir, GO_ENV);
    },
    LIMIT_MS,
  );
});
