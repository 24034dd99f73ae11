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

/** An event of a stream, as a page shows it: its place there, and its data as JSON. */
export interface DocumentedEvent {
  readonly place: string;
  readonly data: string;
}

/** A request as a page shows it, and its answer. */
export interface GuideExchange {
  readonly method: string;
  /** It goes to the admin port. */
  readonly isAdmin: boolean;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly status: number;
  /** JSON; empty if none is shown. */
  readonly answer: string;
  /** What the stream that is open tells then. */
  readonly documented: readonly DocumentedEvent[];
}

const REQUEST = /^(GET|POST|PUT|PATCH|DELETE) (http:\/\/127\.0\.0\.1:7778)?(\/\S*)$/;
const HEADER = /^([A-Z][A-Za-z-]*): (\S.*)$/;
const STATUS = /^(\d{3})(?: (.*))?$/;
const PLACE = /^id: (\S+)$/;
const DATA = /^data: (.*)$/;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * The calls of an example: a line with method and path, headers, the lines of the body, an answer that begins with its status, and
 * the events that a stream tells after it.
 *
 * @throws {Error} a line that belongs to no request
 */
export function exchangesIn(block: string): GuideExchange[] {
  const calls: Mutable<GuideExchange>[] = [];
  for (const line of block.split('\n')) {
    const [, method, admin, path] = REQUEST.exec(line) ?? [];
    const last = calls.at(-1);
    if (method !== undefined && path !== undefined) {
      const empty = { headers: {}, body: '', status: 0, answer: '', documented: [] };
      calls.push({ method, isAdmin: admin !== undefined, path, ...empty });
    } else if (last === undefined) throw new Error(`no request before ${line}`);
    else if (last.status === 0) takeRequest(last, line);
    else takeAnswer(last, line);
  }
  return calls;
}

function takeRequest(context: Mutable<GuideExchange>, line: string): void {
  const [, status, answer = ''] = STATUS.exec(line) ?? [];
  const [, name, value] = HEADER.exec(line) ?? [];
  if (status !== undefined) Object.assign(context, { status: Number(status), answer });
  else if (name === undefined || value === undefined) context.body += line;
  else context.headers = { ...context.headers, [name]: value };
}

function takeAnswer(context: Mutable<GuideExchange>, line: string): void {
  const [, place] = PLACE.exec(line) ?? [];
  const [, data] = DATA.exec(line) ?? [];
  const documented = context.documented.at(-1);
  if (place !== undefined) context.documented = [...context.documented, { place, data: '' }];
  else if (data !== undefined && documented !== undefined)
    context.documented = [...context.documented.slice(0, -1), { ...documented, data }];
  else context.answer += line;
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
