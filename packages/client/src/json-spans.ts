/** Where something begins and ends in a text. */
export type Span = readonly [from: number, to: number];

export interface JobSpan {
  readonly job: Span;
  /** The value of each of its members. */
  readonly members: ReadonlyMap<string, Span>;
}

/**
 * Finds the text of each job, and of its members, in the answer to a lease request. It is needed where a handler wants the
 * digits of its payload, and where the answer cannot be parsed as a whole: most are parsed once, by `JSON.parse`.
 */
export function jobSpans(text: string): JobSpan[] {
  const spans: JobSpan[] = [];
  let at = 0;
  const space = (): void => {
    while (text.charCodeAt(at) <= 32) at++;
  };
  const comma = (): void => {
    space();
    if (text[at] === ',') at++;
    space();
  };
  const skipString = (): void => {
    for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
    at++;
  };
  /** Strings apart, brackets are all that matters. */
  const skipValue = (): void => {
    let depth = 0;
    for (;;) {
      const mark = text[at];
      if (mark === undefined) return;
      if (mark === '"') skipString();
      else if ((mark === ',' || mark === ']' || mark === '}') && depth === 0) return;
      else {
        if (mark === '{' || mark === '[') depth++;
        if (mark === '}' || mark === ']') depth--;
        at++;
      }
    }
  };
  /** Calls `member` at the value of each member of the object here. */
  const eachMember = (member: (name: string) => void): void => {
    at++;
    space();
    while (text[at] !== '}' && at < text.length) {
      const from = at;
      skipString();
      const name = text.slice(from + 1, at - 1);
      space();
      at++;
      space();
      member(name);
      comma();
    }
    at++;
  };
  const job = (): void => {
    const start = at;
    const members = new Map<string, Span>();
    eachMember((name) => {
      const from = at;
      skipValue();
      members.set(name, [from, from + text.slice(from, at).trimEnd().length]);
    });
    spans.push({ job: [start, at], members });
  };
  space();
  eachMember((name) => {
    if (name !== 'jobs') {
      skipValue();
      return;
    }
    at++;
    space();
    while (text[at] === '{') {
      job();
      comma();
    }
    at++;
  });
  return spans;
}
