import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { HTTP_PROBLEMS, PROBLEMS } from '../../src/http/answer/errors.v1.js';
import { type Answer, TestApp } from '../support/app.js';
import { answerCheck } from '../support/openapi.js';
import { type Route, withRoutes } from '../support/routes.js';

describe('the OpenAPI document', () => {
  interface Operation {
    readonly operationId: string;
    readonly summary: string;
    readonly 'x-permission'?: string;
    readonly tags: readonly string[];
    readonly requestBody?: {
      readonly content: Readonly<
        Record<'application/json', { readonly schema: object; readonly example?: object }>
      >;
    };
    readonly responses: Readonly<
      Record<
        string,
        {
          readonly description: string;
          readonly content?: Readonly<Record<string, { readonly schema?: object }>>;
        }
      >
    >;
  }
  interface OpenApi {
    readonly openapi: string;
    readonly tags: readonly { readonly name: string }[];
    readonly info: { readonly version: string };
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  }

  const admin = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'admin.md'), 'utf8');
  const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

  describe('the document of the native API', () => {
    let app: TestApp;
    let routes: Route[];
    let document: OpenApi;
    beforeAll(async () => {
      ({ started: app, routes } = await withRoutes(() => TestApp.start()));
      const { status, json } = await app.get('/v1/openapi.json', { token: null });
      expect(status).toBe(200);
      document = json as OpenApi;
    });
    afterAll(() => app.stop());

    const operations = (): [string, Operation][] =>
      Object.entries(document.paths).flatMap(([path, item]) =>
        METHODS.flatMap((method): [string, Operation][] => {
          const operation = item[method];
          return operation === undefined ? [] : [[`${method.toUpperCase()} ${path}`, operation]];
        }),
      );

    it('is valid OpenAPI 3.1', async () => {
      expect(document.openapi).toBe('3.1.0');
      const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
      expect(errors).toBeUndefined();
      expect(valid).toBe(true);
    });

    it('is the file of the build, which an installed package serves', () => {
      const built = join(import.meta.dirname, '..', '..', 'dist', 'openapi', 'document.json');
      expect(JSON.parse(readFileSync(built, 'utf8'))).toEqual(document);
    });

    it('has every native call and no other', () => {
      const served = routes
        .filter(({ template }) => template.startsWith('/v1/'))
        .map(({ method, template }) => `${method} ${template.replaceAll(/:(\w+)/g, '{$1}')}`);
      expect(served.length).toBeGreaterThan(0);
      expect(
        operations()
          .map(([name]) => name)
          .sort(),
      ).toEqual([...new Set(served)].sort());
    });

    it('lists every place that the server reads the token from', () => {
      expect(document).toMatchObject({
        components: {
          securitySchemes: {
            token: { type: 'apiKey', in: 'header', name: 'X-Token' },
            token_in_query: { type: 'apiKey', in: 'query', name: 'token' },
          },
        },
        security: [{ token: [] }, { bearer: [] }, { token_in_query: [] }],
      });
      // No `bearerFormat`: tokens are no JWTs.
      expect(document).toHaveProperty('components.securitySchemes.bearer', {
        type: 'http',
        scheme: 'bearer',
      });
    });

    it('describes each call and its answers', () => {
      const all = operations();
      expect(new Set(all.map(([, { operationId }]) => operationId)).size).toBe(all.length);
      for (const [name, { operationId, summary, tags, responses }] of all) {
        expect([name, operationId]).toEqual([name, expect.stringMatching(/^[a-z]+([A-Z][a-z]+)+$/)]);
        expect([name, summary]).toEqual([name, expect.stringMatching(/^[A-Z].*\.$/s)]);
        expect([name, tags.length]).toEqual([name, 1]);
        expect([name, Object.keys(responses)]).toEqual([name, expect.arrayContaining(['default'])]);
        expect([name, Object.keys(responses).filter((status) => /^2\d\d$/.test(status))]).not.toEqual([
          name,
          [],
        ]);
      }
    });

    it('lists no queue_not_found for calls that create or show a queue', () => {
      const withError = operations().flatMap(([, { operationId, responses }]) =>
        JSON.stringify(responses).includes('`queue_not_found`') ? [operationId] : [],
      );
      expect(withError).toEqual(
        expect.arrayContaining(['resumeQueue', 'drainQueue', 'purgeQueue', 'deleteQueue']),
      );
      for (const id of ['getQueue', 'updateQueue', 'pauseQueue']) expect(withError).not.toContain(id);
    });

    it('lists the errors of each call, by status and code', () => {
      const known = new Map<string, number>([
        ...Object.entries(PROBLEMS).map(([code, { status }]): [string, number] => [code, status]),
        ...Object.entries(HTTP_PROBLEMS),
      ]);
      const listed = new Set<string>();
      for (const [name, { responses }] of operations()) {
        const errors = Object.entries(responses).filter(([status]) => Number(status) >= 400);
        const statuses = errors.map(([status]) => Number(status));
        expect([name, statuses]).toEqual([name, expect.arrayContaining([400, 414, 431, 500, 503])]);
        if (name !== 'GET /v1/openapi.json') {
          expect([name, statuses]).toEqual([name, expect.arrayContaining([401, 403, 404])]);
        }
        for (const [status, { description, content }] of errors) {
          expect([name, status, Object.keys(content ?? {})]).toEqual([
            name,
            status,
            ['application/problem+json'],
          ]);
          const codes = [...description.matchAll(/`(\w+)`/g)].map(([, code = '']) => code);
          expect([name, status, codes.length > 0]).toEqual([name, status, true]);
          for (const code of codes) {
            expect([name, code, known.get(code)]).toEqual([name, code, Number(status)]);
            listed.add(code);
          }
        }
      }
      // No call can answer these: there is no call then.
      const ofNoCall = ['not_found', 'method_not_allowed'];
      // Nor these on the API port, which the document is of: accounts call the admin port.
      const ofAccounts = ['role_missing', 'namespace_not_found', 'older_servers'];
      expect([...listed, ...ofNoCall, ...ofAccounts].sort()).toEqual([...known.keys()].sort());
    });

    it('names the permission of each call that needs a token, as docs/admin.md does', () => {
      const named = operations().flatMap(([name, { 'x-permission': permission }]) =>
        permission === undefined ? [] : [`${permission}: ${name.replace('/v1/{namespace}', '…')}`],
      );
      expect(named.length).toBeGreaterThan(60);
      const [, text = ''] = admin.split('\n#### Native API calls\n');
      const [rows = ''] = text.split('\n#');
      const documented = [...rows.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].flatMap(
        ([, permission = '', calls = '']) =>
          [...calls.matchAll(/`([A-Z]+ …[^`]+)`/g)].map(
            ([, call = '']) => `${permission}: ${call.replaceAll(/:(\w+)/g, '{$1}')}`,
          ),
      );
      expect(documented.sort()).toEqual(named.sort());
    });

    it('describes every request and answer body, with a valid example', () => {
      const schemas = new Ajv2020({ strict: false });
      addFormats.default(schemas);
      schemas.addSchema({ $id: 'api', ...document });
      for (const [name, { requestBody, responses }] of operations()) {
        for (const [status, { content = {} }] of Object.entries(responses)) {
          const schema = content['application/json']?.schema;
          if (name !== 'GET /v1/openapi.json' && status !== 'default' && 'application/json' in content)
            expect([name, status, Object.keys(schema ?? {})]).not.toEqual([name, status, []]);
        }
        const isRead =
          /^(POST|PUT|PATCH)/.test(name) &&
          !/\/(pause|resume|run|revoke|quiet|stop|undo|test|tracked\/\{id\})$/.test(name);
        if (isRead) expect([name, requestBody]).not.toEqual([name, undefined]);
        if (requestBody === undefined) continue;
        const { schema, example } = requestBody.content['application/json'];
        const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as object;
        expect([name, example]).not.toEqual([name, undefined]);
        expect([name, schemas.validate(absolute, example), schemas.errorsText()]).toEqual([
          name,
          true,
          'No errors',
        ]);
      }
    });

    it('groups the calls in the order of its page', () => {
      const used = new Set(operations().flatMap(([, { tags }]) => tags));
      expect(document.tags.map(({ name }) => name).sort()).toEqual([...used].sort());
    });

    it('begins with publish, lease and ack', () => {
      const jobs = operations().filter(([, { tags }]) => tags[0] === document.tags[0]?.name);
      const first = jobs.slice(0, 3).map(([, { operationId }]) => operationId);
      expect(first).toEqual(['publishJobs', 'leaseJobs', 'ackJob']);
    });

    it('refers only to schemas that it has', () => {
      const text = JSON.stringify(document);
      const { components } = document as unknown as { components: { schemas: Record<string, unknown> } };
      const used = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
      expect([...new Set(used)].sort()).toEqual(Object.keys(components.schemas).sort());
    });
  });

  describe('the check of answers in tests', () => {
    const document = {
      paths: {
        '/v1/{namespace}/things/{id}': {
          get: {
            responses: {
              200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
              404: { description: '`none`, `gone`', content: { 'application/problem+json': { schema: {} } } },
              default: { content: { 'application/problem+json': { schema: {} } } },
            },
          },
        },
      },
      components: {
        schemas: {
          Thing: {
            type: 'object',
            properties: { at: { type: 'string', format: 'date-time' } },
            required: ['at'],
          },
        },
      },
    };
    const answer = (json: unknown, status = 200, type = 'application/json; charset=utf-8'): Answer => ({
      ...{ status, json, text: JSON.stringify(json), headers: { 'content-type': type } },
    });
    const PROBLEM = 'application/problem+json';
    const right = { at: '2026-01-01T00:00:00.000Z' };

    it('accepts an answer that matches', () => {
      const check = answerCheck(document);
      check('GET', '/things/x', answer(right));
      check('GET', '/things/x', answer({ code: 'gone' }, 404, 'application/problem+json'));
    });

    it.each<[string, string, string, Answer]>([
      ['a call that it does not have', 'GET', '/things', answer(right)],
      ['a method that it does not have', 'PUT', '/things/x', answer(right)],
      ['a status that it does not have', 'GET', '/things/x', answer(right, 201)],
      ['another type', 'GET', '/things/x', answer(right, 200, 'text/plain')],
      [
        'an error that it has for other calls only',
        'GET',
        '/things/x',
        answer({ code: 'none' }, 409, PROBLEM),
      ],
      ['a code that the status does not have', 'GET', '/things/x', answer({ code: 'one' }, 404, PROBLEM)],
      ['a field too few', 'GET', '/things/x', answer({})],
      ['a field too many', 'GET', '/things/x', answer({ ...right, more: 1 })],
      ['a field of another form', 'GET', '/things/x', answer({ at: 'noon' })],
      ['no JSON', 'GET', '/things/x', answer(undefined)],
    ])('refuses %s', (_, method, path, given) => {
      expect(() => answerCheck(document)(method, path, given)).toThrow();
    });
  });

  describe('the page of the document', () => {
    const guides = readdirSync(join(import.meta.dirname, '..', '..', 'docs', 'api'))
      .map((file) => file.replace(/\.md$/, ''))
      .sort();
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    it('is public with all that it loads, and loads nothing from elsewhere', async () => {
      const { status, text, headers } = await app.get('/docs', { token: null });
      expect(status).toBe(200);
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
      const [icon, ...loaded] = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address!);
      expect(icon).toBe('data:,');
      expect(loaded).toEqual(expect.arrayContaining(['docs/page.js', 'v1/openapi.json']));
      for (const address of loaded) {
        const file = await app.get(`/${address}`, { token: null });
        expect([address, file.status]).toEqual([address, 200]);
        expect(file.text.length).toBeGreaterThan(100);
        expect(file.headers['x-request-id']).toMatch(/^[0-9A-Z]{26}$/);
      }
    });

    it('says what Pumphouse is, and links every guide of docs/api', async () => {
      const { text } = await app.get('/docs', { token: null });
      expect(text).toContain('Pumphouse is a job queue server over HTTP');
      const linked = [...text.matchAll(/href="docs\/guides\/([^"]+)"/g)].map(([, name]) => name);
      expect(linked.sort()).toEqual(guides);
    });

    it('shows each guide as a page whose links lead to pages and headings of this server', async () => {
      const page = async (path: string): Promise<string> => {
        const { status, headers, text } = await app.get(path, { token: null });
        expect([path, status, headers['content-type']]).toEqual([path, 200, 'text/html; charset=utf-8']);
        return text;
      };
      for (const name of guides) {
        const text = await page(`/docs/guides/${name}`);
        expect(text).toMatch(/<h1 id="[^"]+">/);
        expect(text).not.toMatch(/^ *(#|```|\|)/m);
        const links = [...text.matchAll(/href="(?!data:|https:)([^"]*)"/g)].map(([, link]) => link!);
        for (const link of links) {
          const { pathname, hash } = new URL(link, `http://server/docs/guides/${name}`);
          const heading = hash === '' ? '<html' : ` id="${hash.slice(1)}"`;
          expect([name, link, (await page(pathname)).includes(heading)]).toEqual([name, link, true]);
        }
      }
    });

    it('has the sources of the guides as plain text, and no other file', async () => {
      const guide = await app.get('/docs/guides/publish.md', { token: null });
      expect(guide.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(guide.text).toBe(readFileSync('docs/api/publish.md', 'utf8'));
      for (const name of ['none', 'none.md', '..%2fapi.md', '%2e%2e%2fswagger-ui.css', 'LICENSE'])
        expect([name, (await app.get(`/docs/guides/${name}`, { token: null })).status]).toEqual([name, 404]);
    });

    it('has no inline script, and a policy that allows no other server', async () => {
      const page = await app.get('/docs', { token: null });
      expect(page.text).not.toMatch(/<script>|<style|\son\w+=|https?:/i);
      const policy = String(page.headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self';");
      expect(policy).not.toMatch(/unsafe-eval|https?:|\*/);
      const script = await app.get('/docs/page.js', { token: null });
      expect(script.headers['x-content-type-options']).toBe('nosniff');
      expect(script.text).toContain('validatorUrl: null');
      expect(script.text).not.toMatch(/https?:/);
    });

    it('has the files of swagger-ui-dist, byte for byte', async () => {
      for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js']) {
        const { text, headers } = await app.get(`/docs/${name}`, { token: null });
        const bytes = readFileSync(`node_modules/swagger-ui-dist/${name}`);
        expect(Number(headers['content-length'])).toBe(bytes.length);
        expect(text === bytes.toString()).toBe(true);
      }
    });
  });
});
