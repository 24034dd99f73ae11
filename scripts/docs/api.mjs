import { escaped, heading, NOTE, table } from './page.mjs';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const SCHEMA = '#/components/schemas/';
const slug = (text) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
const NOTE_API = NOTE('the OpenAPI document');

/**
 * A page for each tag of the document, one for its schemas, and one that lists all calls.
 *
 * @param {Record<string, any>} document OpenAPI 3.1
 * @returns {Map<string, string>} text by path below docs/reference
 */
export function apiPages({ tags, paths, components, info }) {
  const calls = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => ({
      path,
      method: method.toUpperCase(),
      parameters: [...(item.parameters ?? []), ...(item[method].parameters ?? [])],
      ...item[method],
    })),
  );
  const pages = new Map();
  for (const { name } of tags) {
    const own = calls.filter((call) => call.tags.includes(name));
    const text = own.map((call) => callText(call)).join('\n\n');
    pages.set(`api/${slug(name)}.md`, `# ${name}: API reference\n\n${NOTE_API}\n\n${text}\n`);
  }
  pages.set('api/schemas.md', schemasPage(components.schemas));
  const lists = tags.map(({ name }) => {
    const rows = calls
      .filter((call) => call.tags.includes(name))
      .map(({ method, path, operationId, summary }) => [
        `[\`${method} ${path}\`](api/${slug(name)}.md#${operationId.toLowerCase()})`,
        summary,
      ]);
    return `${heading(2, name)}\n\n${table(['call', 'what it does'], rows)}`;
  });
  pages.set(
    'api.md',
    `# API reference

${NOTE_API}

All calls of the native API. How they behave, with examples: [the guides](../api.md). A server answers the same as OpenAPI 3.1 at
\`/v1/openapi.json\`, and as a page at \`/docs\`. [All errors](errors.md).

${escaped(info.description)}

${lists.join('\n\n')}
`,
  );
  return pages;
}

function callText({
  method,
  path,
  operationId,
  summary,
  description,
  parameters,
  requestBody,
  responses,
  'x-permission': permission,
}) {
  const parts = [heading(2, operationId), `\`${method} ${path}\``, escaped(summary)];
  if (description !== undefined) parts.push(escaped(description));
  if (permission !== undefined) parts.push(`Permission: \`${permission}\`.`);
  if (parameters.length > 0) {
    const rows = parameters.map(({ name, in: place, required, schema, description: about = '' }) => [
      `\`${name}\``,
      place,
      required === true ? 'yes' : '',
      typeOf(schema),
      about,
    ]);
    parts.push(table(['parameter', 'in', 'required', 'type', 'meaning'], rows));
  }
  const body = requestBody?.content['application/json'];
  if (body !== undefined) {
    parts.push(`Request body: ${typeOf(body.schema)}`);
    if (body.example !== undefined)
      parts.push(`\`\`\`json\n${JSON.stringify(body.example, null, 2)}\n\`\`\``);
  }
  const answers = Object.entries(responses).map(([status, { description: about, content = {} }]) => {
    const types = Object.entries(content).map(([type, { schema = {} }]) => {
      const shown = typeOf(schema);
      return shown === 'any' ? `\`${type}\`` : shown;
    });
    return [status, about, types.join(', ')];
  });
  parts.push(table(['status', 'meaning', 'body'], answers));
  return parts.join('\n\n');
}

function schemasPage(schemas) {
  const entries = Object.entries(schemas)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { properties, required = [], additionalProperties }]) => {
      const rows = Object.entries(properties).map(([field, schema]) => [
        `\`${field}\``,
        required.includes(field) ? 'yes' : '',
        typeOf(schema),
        schema.description ?? '',
      ]);
      const open = additionalProperties === false ? 'Other fields are refused.' : '';
      const fields = rows.length === 0 ? 'No fields.' : table(['field', 'required', 'type', 'meaning'], rows);
      return [heading(2, name), fields, open].filter((text) => text !== '').join('\n\n');
    });
  return `# Schemas: API reference\n\n${NOTE_API}\n\n${entries.join('\n\n')}\n`;
}

/** A schema in a few words, with a link to the schema that it names. */
function typeOf(schema) {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(SCHEMA.length);
    return `[${name}](schemas.md#${name.toLowerCase()})`;
  }
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${JSON.stringify(one)}\``).join(', ');
  if (schema.type === undefined) return 'any';
  const types = [schema.type].flat();
  const shown = types.map((type) => (type === 'array' ? arrayOf(schema) : type)).join(' or ');
  return `${shown}${rangeOf(schema)}`;
}

const arrayOf = ({ items = {}, minItems = 0, maxItems }) =>
  `array${maxItems === undefined ? '' : ` of ${minItems} to ${maxItems}`}: ${typeOf(items)}`;

function rangeOf({ minimum, maximum, maxLength, format }) {
  const parts = [];
  if (format !== undefined) parts.push(format);
  if (minimum !== undefined && maximum !== undefined) parts.push(`${minimum} to ${maximum}`);
  if (maxLength !== undefined) parts.push(`at most ${maxLength} characters`);
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}
