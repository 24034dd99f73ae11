import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Answer } from './app.js';

type Schema = Record<string, unknown>;
interface Response {
  readonly description?: string;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}
interface Operation {
  readonly responses: Readonly<Record<string, Response>>;
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Fails unless an answer is as the document says. @param path what follows the namespace */
export type AnswerCheck = (method: string, path: string, answer: Answer) => void;

/**
 * Holds answers against the API's document: status, content type, and a body of the schema. A field that the document does not name is
 * a failure here, though readers must bear it; so is an error whose status or code the call does not list.
 */
export function answerCheck(document: unknown): AnswerCheck {
  const { paths, components } = document as OpenApi;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'api', components: closed(components) });
  /** A schema is compiled once: that takes longer than the call. */
  const checks = new Map<Schema, ReturnType<typeof ajv.compile>>();
  const patterns = Object.keys(paths).map((path): [RegExp, string] => [patternOf(path), path]);
  return (method, path, { status, headers, json, text }) => {
    // A path of words may look like one with an id that has other methods.
    const operation = patterns
      .filter(([pattern]) => pattern.test(path))
      .map(([, template]) => paths[template]?.[method.toLowerCase()])
      .find((one) => one !== undefined);
    if (operation === undefined) throw new Error(`the document has no ${method} ${path}`);
    const described = operation.responses[String(status)];
    if (described === undefined) throw new Error(`${method} ${path}: the document has no ${String(status)}`);
    const code = status >= 400 ? String((json as { code?: unknown } | undefined)?.code) : undefined;
    if (code !== undefined && described.description?.includes(`\`${code}\``) !== true)
      throw new Error(`${method} ${path} ${String(status)}: the document does not list ${code}`);
    const type = String(headers['content-type'] ?? '').split(';')[0] ?? '';
    const content = described.content ?? {};
    if (Object.keys(content).length === 0 && text === '') return;
    const schema = content[type]?.schema;
    if (schema === undefined)
      throw new Error(`${method} ${path} ${String(status)}: the document has no ${type}`);
    const holds = checks.get(schema) ?? ajv.compile(absolute(schema));
    checks.set(schema, holds);
    if (!holds(json))
      throw new Error(`${method} ${path} ${String(status)}: ${ajv.errorsText(holds.errors)} in ${text}`);
  };
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace('/v1/{namespace}', '').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

/** References in a schema point into the document that was added. */
function absolute(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as Schema;
}

/** The same with no field but those that are named. */
export function closed<T>(value: T): T {
  if (Array.isArray(value)) return value.map((one: unknown) => closed(one)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, closed(one as unknown)]));
  const isClosed = 'properties' in copy && typeof copy['properties'] === 'object';
  return (
    isClosed && !('additionalProperties' in copy) ? { ...copy, additionalProperties: false } : copy
  ) as T;
}
