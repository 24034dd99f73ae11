import type { ModulesContainer } from '@nestjs/core';
import { fieldsOf } from '../contract/fields/field.js';
import type { Schema } from '../contract/fields/field.js';
import { ADMIN_CALLS, type AdminCall } from './admin-calls.js';
import { callsOf, routeOf } from './calls.js';
import { Schemas } from './schemas.js';

const BASIC = 'account';
const JSON_TYPE = 'application/json';
const ABOUT = [
  'Calls of the admin port. With accounts, each needs one.',
  'Times in fields called `…_ms` are milliseconds, those in fields called `…_at` are ISO 8601 in UTC.',
  'Later releases may add fields to answers. Errors are JSON with a text: `{"error":"…"}`.',
].join('\n');
const GROUPS = ['Overview', 'Namespaces', 'Tokens', 'Limits', 'Accounts', 'Server'];
/** The error of every call. */
const ERROR: Schema = { type: 'object', properties: { error: { type: 'string' } }, required: ['error'] };

/**
 * Builds the document of the admin port, OpenAPI 3.1: of the calls that are described where they are handled, and of those
 * of `ADMIN_CALLS`. The native API has its own, on the API port.
 */
export function buildAdminDocument(modules: ModulesContainer, version: string): object {
  const schemas = new Schemas();
  const described = callsOf(modules).flatMap(({ owner, handler, description }) => {
    const route = routeOf(owner, handler);
    if (route === null || route.path.startsWith('/v1/')) return [];
    const { id, about, details, group, query, answers, isOpen } = description;
    const parameters = [...(query === undefined ? [] : fieldsOf(query))].map(([name, field]) => {
      const { description: text = '', ...schema } = schemas.ofField(field, 'in');
      const style = schema['type'] === 'array' ? { style: 'form', explode: false } : {};
      return { name, in: 'query', required: !field.isOptional, description: String(text), schema, ...style };
    });
    const responses = Object.entries(answers).map(([status, { about: text, of }]) => {
      const content = of === undefined ? {} : { content: { [JSON_TYPE]: { schema: schemas.of(of, 'out') } } };
      return [status, { description: text, ...content }] as const;
    });
    const operation = operationOf({ id, about, details, group, isOpen }, parameters, {}, responses);
    return [[route.method, route.path, operation] as const];
  });
  const listed = Object.entries(ADMIN_CALLS).map(([name, call]) => {
    const [method = '', path = ''] = name.split(' ');
    return [method.toLowerCase(), path, listedOperation(call)] as const;
  });
  const paths: Record<string, Record<string, object>> = {};
  for (const [method, path, operation] of [...described, ...listed]) {
    paths[path] = { ...paths[path], [method]: operation, parameters: placesIn(path) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Pumphouse, admin port', version, description: ABOUT },
    servers: [{ url: '/' }],
    tags: GROUPS.map((name) => ({ name })),
    security: [{ [BASIC]: [] }, {}],
    paths,
    components: {
      schemas: { ...schemas.byName, Error: ERROR },
      securitySchemes: { [BASIC]: { type: 'http', scheme: 'basic' } },
    },
  };
}

interface Heading {
  readonly id: string;
  readonly about: string;
  readonly details?: string | undefined;
  readonly group: string;
  readonly isOpen?: boolean | undefined;
}

type Responses = readonly (readonly [status: string, response: object])[];

function operationOf(
  { id, about, details, group, isOpen }: Heading,
  parameters: readonly object[],
  body: object,
  responses: Responses,
): object {
  const content = { [JSON_TYPE]: { schema: { $ref: '#/components/schemas/Error' } } };
  return {
    operationId: id,
    summary: about,
    ...(details === undefined ? {} : { description: details }),
    tags: [group],
    ...(isOpen === true ? { security: [] } : {}),
    parameters,
    ...body,
    responses: { ...Object.fromEntries(responses), default: { description: 'An error.', content } },
  };
}

function listedOperation(call: AdminCall): object {
  const parameters = Object.entries(call.query ?? {}).map(([spelt, description]) => {
    const name = spelt.replace('*', '');
    return { name, in: 'query', required: spelt !== name, description, schema: { type: 'string' } };
  });
  const body = call.body && {
    requestBody: { required: true, content: { [JSON_TYPE]: { schema: call.body } } },
  };
  const responses = Object.entries(call.answers).map(([status, { about, schema, type = JSON_TYPE }]) => {
    const content = schema === undefined ? {} : { content: { [type]: { schema } } };
    return [status, { description: about, ...content }] as const;
  });
  return operationOf(call, parameters, body ?? {}, responses);
}

function placesIn(path: string): object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}
