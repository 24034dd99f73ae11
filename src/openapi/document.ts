import type { INestApplication } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { ACCESS_RULES, type AccessRules } from '../auth/access.js';
import type { AnswerDescription, CallDescription } from '../http/describe.js';
import { fieldsOf } from '../contract/fields/field.js';
import { Problem } from '../http/answer/problem.v1.js';
import { type Call, callsOf } from './calls.js';
import { EXAMPLES } from './examples.js';
import { refusalsOf } from './refusals.js';
import { Schemas } from './schemas.js';

const TOKEN = 'token';
const BEARER = 'bearer';
const QUERY_TOKEN = 'token_in_query';
const VERSION = '3.1.0';
const JSON_TYPE = 'application/json';
const ABOUT = [
  'Times in fields called `…_ms` are milliseconds, those in fields called `…_at` are ISO 8601 in UTC.',
  'Unknown fields are refused. Later releases may add fields to answers.',
  'Errors are problem details (RFC 9457) with a stable `code`. Each status lists its codes; later releases may add some.',
].join('\n');
/** Descriptions of the path parameters. */
const PLACES: Readonly<Record<string, { readonly description: string; readonly example?: string }>> = {
  namespace: { description: 'The namespace of the token.', example: 'demo' },
  queue: { description: 'The name of a queue.', example: 'mail' },
  id: { description: 'The id.' },
  name: { description: 'The name.', example: 'host-1' },
  key: { description: 'The name of a setting.', example: 'grace_ms' },
};
/** Groups of calls, in the order of the docs page. */
const GROUPS = [
  ...['Jobs', 'Lists', 'Operations', 'Workers', 'Dead letter', 'Queues', 'Targets', 'Recurring jobs'],
  ...['Statistics', 'Settings', 'Variables', 'Events', 'About'],
];

/** Calls of every producer and worker: the first of the docs page, in this order. */
const FIRST = [
  '/v1/{namespace}/jobs',
  '/v1/{namespace}/leases',
  ...['ack', 'heartbeat', 'retry', 'fail', 'release'].map((call) => `/v1/{namespace}/jobs/{id}/${call}`),
];
/** Place of a path on the docs page: those that are not named come behind, in the order of their controllers. */
const placeOf = (path: string): number => (FIRST.includes(path) ? FIRST.indexOf(path) : FIRST.length);

type Swagger = typeof import('@nestjs/swagger');

/**
 * Builds the native API's document, OpenAPI 3.1, from the routes of an application and their descriptions (`Describe`).
 *
 * For the build and for tests: loading Nest's swagger module takes 0.25 s and 12 MB. Servers send the file of the build.
 */
export async function buildDocument(app: INestApplication, version: string): Promise<object> {
  const swagger = await import('@nestjs/swagger');
  const schemas = new Schemas();
  const calls = new Map<string, Call>();
  for (const call of callsOf(app.get(ModulesContainer))) {
    const { handler, owner, name, description } = call;
    calls.set(description.id, call);
    describe(swagger, schemas, description)(owner, name, { value: handler });
  }
  const problem = schemas.of(Problem, 'out');
  const config = new swagger.DocumentBuilder()
    .setOpenAPIVersion(VERSION)
    .setTitle('Pumphouse')
    .setVersion(version)
    .setDescription(ABOUT)
    .addServer('/')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-Token' }, TOKEN)
    .addSecurity(BEARER, { type: 'http', scheme: 'bearer' })
    .addApiKey({ type: 'apiKey', in: 'query', name: 'token' }, QUERY_TOKEN)
    .addSecurityRequirements(TOKEN)
    .addSecurityRequirements(BEARER)
    .addSecurityRequirements(QUERY_TOKEN)
    .build();
  const { paths, components, ...rest } = swagger.SwaggerModule.createDocument(app, config, {
    autoTagControllers: false,
  });
  return {
    ...rest,
    tags: GROUPS.map((name) => ({ name })),
    paths: Object.fromEntries(
      Object.entries(paths)
        .filter(([path]) => path.startsWith('/v1/'))
        .sort(([a], [b]) => placeOf(a) - placeOf(b))
        .map(([path, item]) => [
          path,
          {
            ...withRefusals(withExamples(path, item), calls, problem),
            parameters: placesIn(path),
          },
        ]),
    ),
    components: { ...components, schemas: schemas.byName },
  };
}

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, object>>;
}

function describe(swagger: Swagger, schemas: Schemas, call: CallDescription): MethodDecorator {
  const { id, about, details, group, body, query, headers = [], answers, isOpen } = call;
  const parts = [
    swagger.ApiOperation({
      operationId: id,
      summary: about,
      ...(details === undefined ? {} : { description: details }),
      ...(isOpen === true ? { security: [] } : {}),
    }),
    swagger.ApiTags(group),
    ...Object.entries(answers).map(([status, answer]) => described(swagger, schemas, Number(status), answer)),
    ...headers.map(({ name, about: description }) =>
      swagger.ApiHeader({ name, description, required: false, schema: { type: 'string' } }),
    ),
  ];
  if (body !== undefined) {
    parts.push(
      swagger.ApiConsumes(JSON_TYPE),
      swagger.ApiBody({ required: true, schema: schemas.of(body, 'in') }),
    );
  }
  for (const [name, field] of query === undefined ? [] : fieldsOf(query)) {
    const { description = '', ...schema } = schemas.ofField(field, 'in');
    const style =
      schema['type'] === 'array' ? { style: 'form' as const, explode: field.text === 'repeated' } : {};
    parts.push(
      swagger.ApiQuery({
        name,
        required: !field.isOptional,
        description: String(description),
        schema,
        ...style,
      }),
    );
  }
  return (owner, name, descriptor) => {
    const handler = descriptor.value as object;
    // An earlier document of this process has left its own descriptions there, and Nest would add to them.
    for (const key of Reflect.getMetadataKeys(handler) as unknown[])
      if (String(key).startsWith('swagger/')) Reflect.deleteMetadata(key, handler);
    for (const part of parts) part(owner, name, descriptor);
  };
}

function described(
  { ApiResponse }: Swagger,
  schemas: Schemas,
  status: number,
  { about: description, of, type, headers: described }: AnswerDescription,
): MethodDecorator {
  const headers = Object.fromEntries(
    (described ?? []).map(({ name, about }) => [name, { description: about, schema: { type: 'string' } }]),
  );
  const answer = { status, description, ...(described === undefined ? {} : { headers }) };
  if (of === undefined && type === undefined) return ApiResponse(answer);
  const schema = of === undefined ? {} : schemas.of(of, 'out');
  return ApiResponse({ ...answer, content: { [type ?? JSON_TYPE]: { schema } } });
}

/**
 * Adds to each call the permission that its token needs and its errors by status; `default` is for errors that a later
 * release may add.
 */
function withRefusals(item: object, calls: ReadonlyMap<string, Call>, schema: object): object {
  const content = { 'application/problem+json': { schema } };
  const operations = Object.entries(item as Readonly<Record<string, Operation>>).map(
    ([method, operation]) => {
      const call = calls.get(operation.operationId);
      if (call === undefined) return [method, operation];
      const access = Reflect.getMetadata(ACCESS_RULES, call.handler) as AccessRules | undefined;
      const refusals = [...refusalsOf(call.description, access, method)].map(([status, codes]) => {
        const description = codes.map((code) => `\`${code}\``).join(', ');
        return [status, { description, content }];
      });
      const other = { description: 'Any other error.', content };
      const responses = {
        ...operation.responses,
        ...(Object.fromEntries(refusals) as Readonly<Record<string, object>>),
        default: other,
      };
      const permission = access && { 'x-permission': access.verb ?? 'admin' };
      return [method, { ...operation, ...permission, responses }];
    },
  );
  return Object.fromEntries(operations) as object;
}

/** Adds an example body to each call that has a body. */
function withExamples(path: string, item: object): object {
  const calls = Object.entries(item as Record<string, object>).map(([method, call]) => {
    const example = EXAMPLES[`${method.toUpperCase()} ${path}`];
    if (example === undefined || !('requestBody' in call)) return [method, call];
    const requestBody = call.requestBody as { readonly content: Readonly<Record<string, object>> };
    const content = { [JSON_TYPE]: { ...requestBody.content[JSON_TYPE], example } };
    return [method, { ...call, requestBody: { ...requestBody, content } }];
  });
  return Object.fromEntries(calls) as object;
}

function placesIn(path: string): object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    ...PLACES[name],
    schema: { type: 'string' },
  }));
}
