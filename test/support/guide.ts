/** A piece of a page, from one heading to the next. */
export interface Section {
  readonly title: string;
  readonly text: string;
}

/** The sections of a Markdown page. */
export function sectionsOf(page: string): Section[] {
  return page
    .split(/^#+ /m)
    .slice(1)
    .map((part) => ({ title: part.split('\n', 1)[0] ?? '', text: part }));
}

/** A request as a page shows it, and its answer. */
export interface GuideExchange {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly status: number;
  /** JSON; empty if none is shown. */
  readonly answer: string;
}

const REQUEST = /^(GET|POST|PUT|PATCH|DELETE) (\/\S*)$/;
const STATUS = /^(\d{3})(?: (.*))?$/;

/**
 * The exchanges of an example: a line with method and path, the lines of the body, and an answer that begins with its status.
 *
 * @throws {Error} a line that belongs to neither
 */
export function exchangesIn(block: string): GuideExchange[] {
  const exchanges: { method: string; path: string; body: string; status: number; answer: string }[] = [];
  for (const line of block.split('\n')) {
    const [, method, path] = REQUEST.exec(line) ?? [];
    const [, status, begin = ''] = STATUS.exec(line) ?? [];
    const last = exchanges.at(-1);
    if (method !== undefined && path !== undefined)
      exchanges.push({ method, path, body: '', status: 0, answer: '' });
    else if (last === undefined) throw new Error(`no request before ${line}`);
    else if (status !== undefined) Object.assign(last, { status: Number(status), answer: begin });
    else if (last.status === 0) last.body += line;
    else last.answer += line;
  }
  return exchanges;
}

/** What names such as `<job>` stand for. */
export type Names = Map<string, unknown>;

/** A text with names replaced by what they stand for; in quotes, by its JSON. @throws {Error} a name that stands for nothing yet */
export function filledIn(text: string, names: Names): string {
  const of = (name: string): unknown => {
    if (!names.has(name)) throw new Error(`nothing is called <${name}> yet`);
    return names.get(name);
  };
  return text
    .replaceAll(/"<([\w-]+)>"/g, (_, name: string) => JSON.stringify(of(name)))
    .replaceAll(/<([\w-]+)>/g, (_, name: string) => String(of(name)));
}

/**
 * Holds an answer against what a page shows, which may leave out fields of objects. A name is given what stands in its place the first
 * time; afterwards that must stand there again.
 *
 * @returns what differs, with its path
 */
export function match(shown: unknown, real: unknown, names: Names, at = ''): string[] {
  const name = typeof shown === 'string' ? /^<([\w-]+)>$/.exec(shown)?.[1] : undefined;
  if (name !== undefined) {
    if (real === undefined || real === null) return [`${at}: nothing for <${name}>`];
    if (!names.has(name)) names.set(name, real);
    return names.get(name) === real ? [] : [`${at}: ${JSON.stringify(real)} is not <${name}>`];
  }
  if (typeof shown !== 'object' || shown === null) {
    return shown === real ? [] : [`${at}: ${JSON.stringify(real)} and not ${JSON.stringify(shown)}`];
  }
  if (typeof real !== 'object' || real === null) return [`${at}: ${JSON.stringify(real)} is no object`];
  if (Array.isArray(shown) && (!Array.isArray(real) || real.length !== shown.length)) {
    return [`${at}: ${JSON.stringify(real)} is not ${String(shown.length)} items`];
  }
  return Object.entries(shown).flatMap(([key, value]) =>
    match(value, (real as Record<string, unknown>)[key], names, `${at}.${key}`),
  );
}
