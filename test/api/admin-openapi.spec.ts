import { Validator } from '@seriousme/openapi-schema-validator';
import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { ADMIN_ALIASES } from '../../src/openapi/admin-calls.js';
import { type Answer, TestApp } from '../support/app.js';
import { closed } from '../support/openapi.js';
import { type Route, withRoutes } from '../support/routes.js';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}
interface Document {
  readonly openapi: string;
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}

describe('the OpenAPI document of the admin port', () => {
  let app: TestApp;
  let routes: Route[];
  let document: Document;
  beforeAll(async () => {
    ({ started: app, routes } = await withRoutes(() => TestApp.start()));
    const { status, json } = await app.admin('GET', '/openapi.json');
    expect(status).toBe(200);
    document = json as Document;
  });
  afterAll(() => app.stop());

  const operations = (): [string, Operation][] =>
    Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, operation]): [string, Operation][] =>
        method === 'parameters' ? [] : [[`${method.toUpperCase()} ${path}`, operation]],
      ),
    );

  it('is valid OpenAPI 3.1', async () => {
    expect(document.openapi).toBe('3.1.0');
    const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });

  it('has every call of the admin port and no other', () => {
    expect(routes.length).toBeGreaterThan(0);
    const own = new Set(adminRoutes(routes).filter((name) => !ADMIN_ALIASES.has(name)));
    expect(
      operations()
        .map(([name]) => name)
        .sort(),
    ).toEqual([...own].sort());
  });

  it('describes each call', () => {
    const all = operations();
    expect(new Set(all.map(([, { operationId }]) => operationId)).size).toBe(all.length);
    const groups = new Set(document.tags.map(({ name }) => name));
    for (const [name, { operationId, summary, tags, responses }] of all) {
      expect([name, operationId]).toEqual([name, expect.stringMatching(/^[a-z]+([A-Z][A-Za-z]+)+$/)]);
      expect([name, summary]).toEqual([name, expect.stringMatching(/^[A-Z].*\.$/s)]);
      expect([name, tags.every((tag) => groups.has(tag))]).toEqual([name, true]);
      expect([name, Object.keys(responses)]).toEqual([name, expect.arrayContaining(['default'])]);
    }
  });

  it('has the schema of each answer, without a field that it does not name', async () => {
    const ns = app.namespace;
    await app.publish('mail');
    const created = await app.admin('POST', `/token/${ns}?description=one`);
    const { token } = created.json as { token: string };
    const limit = { body: '{"interval":1,"read":2,"write":3}' };
    const calls: [method: string, path: string, template: string, options?: object][] = [
      ['GET', '/openapi.json', '/openapi.json'],
      ['GET', `/token/${ns}`, '/token/{namespace}'],
      ['GET', `/token/${ns}?details=true`, '/token/{namespace}'],
      ['POST', `/token/${ns}?description=two`, '/token/{namespace}'],
      ['GET', `/token/${ns}/${token}`, '/token/{namespace}/{token}'],
      ['GET', `/token/${ns}/${token}/limit`, '/token/{namespace}/{token}/limit'],
      ['POST', `/token/${ns}/${token}/limit`, '/token/{namespace}/{token}/limit', limit],
      ['PUT', `/token/${ns}/${token}/limit`, '/token/{namespace}/{token}/limit', limit],
      ['GET', `/token/${ns}/${token}/limit`, '/token/{namespace}/{token}/limit'],
      ['GET', `/token/${ns}/${token}`, '/token/{namespace}/{token}'],
      ['GET', '/limits', '/limits'],
      ['DELETE', `/token/${ns}/${token}/limit`, '/token/{namespace}/{token}/limit'],
      ['POST', `/token/${ns}/${token}/rotate?grace=1h`, '/token/{namespace}/{token}/rotate'],
      ['DELETE', `/token/${ns}/${token}`, '/token/{namespace}/{token}'],
      ['GET', '/namespaces', '/namespaces'],
      ['GET', `/namespaces/${ns}/quotas`, '/namespaces/{namespace}/quotas'],
      ['PUT', `/namespaces/${ns}/quotas`, '/namespaces/{namespace}/quotas', { body: '{}' }],
      ['DELETE', `/namespaces/${ns}?dry_run=true`, '/namespaces/{namespace}'],
      ['GET', '/overview', '/overview'],
      ['GET', `/namespaces/${ns}/queues/mail/history`, '/namespaces/{namespace}/queues/{queue}/history'],
      ['DELETE', `/namespaces/${ns}`, '/namespaces/{namespace}'],
      ['GET', '/session', '/session'],
      ['POST', '/session', '/session', { body: '{"account":"a","password":"b"}' }],
      ['DELETE', '/session', '/session'],
      ...['', '/oidc', '/oidc/callback'].map((path): [string, string, string] => [
        ...(['GET', `/sign-in${path}`, `/sign-in${path}`] as const),
      ]),
      ['GET', '/accounts', '/accounts'],
      ['DELETE', '/accounts/ops/sessions', '/accounts/{name}/sessions'],
      ['GET', '/audit', '/audit'],
      ...['info', 'version', 'pools', 'accesslog', 'redis', 'loops', 'metrics', 'healthz', 'readyz'].map(
        (name): [string, string, string] => ['GET', `/${name}`, `/${name}`],
      ),
      ['POST', '/accesslog?status=disable', '/accesslog'],
      ['GET', '/formats', '/formats'],
      ['POST', '/formats/default', '/formats/{pool}'],
    ];
    for (const [method, path, template, options = {}] of calls) {
      const answer = await app.admin(method, path, options);
      expect([path, problemOf(document, method, template, answer)]).toEqual([path, null]);
    }
    const called = new Set(calls.map(([method, , template]) => `${method} ${template}`));
    expect(operations().flatMap(([name]) => (called.has(name) ? [] : [name]))).toEqual([]);
  });

  it('has the error of a call', async () => {
    const answer = await app.admin('GET', '/overview?sort=size');
    expect([answer.status, problemOf(document, 'GET', '/overview', answer)]).toEqual([400, null]);
  });
});

/** Routes of the admin port, as the document spells them: those that the API port does not have. */
function adminRoutes(routes: readonly Route[]): string[] {
  return routes.flatMap(({ method, template }) =>
    /^\/(?:v1|api|docs|push|ui)(?:\/|$)/.test(template)
      ? []
      : [`${method} ${template.replaceAll(/:(\w+)/g, '{$1}')}`],
  );
}

/** What is wrong with an answer; null = it is as the document says. */
function problemOf(document: Document, method: string, template: string, answer: Answer): string | null {
  const operation = document.paths[template]?.[method.toLowerCase()];
  const described = operation?.responses[String(answer.status)] ?? operation?.responses['default'];
  if (
    described === undefined ||
    (answer.status < 400 && operation?.responses[String(answer.status)] === undefined)
  )
    return `no ${String(answer.status)}`;
  const content = described.content ?? {};
  if (Object.keys(content).length === 0) return answer.text === '' ? null : 'a body';
  const type = String(answer.headers['content-type'] ?? '').split(';')[0] ?? '';
  const schema = content[type]?.schema;
  if (schema === undefined) return `no ${type}`;
  if (type !== 'application/json') return null;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'admin', components: closed(document.components) });
  const own = JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/', '"admin#/')) as object;
  const holds = ajv.compile(own);
  return holds(answer.json) ? null : `${ajv.errorsText(holds.errors)} in ${answer.text.slice(0, 300)}`;
}
