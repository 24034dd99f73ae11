import { heading, NOTE, table } from './page.mjs';

/**
 * @typedef {{ code: string, status: number, about: string, action: string, lmstfy: string | null, retryAfter: boolean }} ErrorEntry
 * @param {{ errors: readonly ErrorEntry[] }} sources
 */
export function errorsPage({ errors }) {
  const sorted = errors.toSorted((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1));
  const entries = sorted.map(({ code, status, about, action, lmstfy, retryAfter }) => {
    const rows = [['status', retryAfter ? `${status}, with \`Retry-After\`` : status]];
    if (lmstfy !== null) rows.push(['lmstfy API', `\`${lmstfy}\``]);
    return [heading(2, `\`${code}\``), table(['', ''], rows), about, `What to do: ${action}`].join('\n\n');
  });
  return `# Error reference

${NOTE('src/http/answer/error-catalogue.ts')}

The native API answers errors as problem details (RFC 9457), with a stable \`code\`; how they look:
[its errors](../api.md#errors). The row "lmstfy API" has status and body of the same error there; the text of some bodies
varies.

${table(
  ['status', 'code', 'meaning'],
  sorted.map(({ code, status, about }) => [status, `[\`${code}\`](#${code})`, about]),
)}

${entries.join('\n\n')}
`;
}
