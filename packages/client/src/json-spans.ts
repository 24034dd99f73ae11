/**
 * Finds the text of `jobs[n].data` in the answer to a lease request. It is needed only where a handler wants the digits
 * of its payload: the answer is parsed once, by `JSON.parse`, for all others.
 *
 * @returns where the data of each job begins and ends; null for a job without `data`
 */
export function dataSpans(text: string): ([number, number] | null)[] {
  const spans: ([number, number] | null)[] = [];
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
    for (at++; text[at] !== '"'; at++) if (text[at] === '\\') at++;
    at++;
  };
  /** Strings apart, brackets are all that matters: the text is known to be JSON. */
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
    let span: [number, number] | null = null;
    eachMember((name) => {
      const from = at;
      skipValue();
      if (name === 'data') span = [from, from + text.slice(from, at).trimEnd().length];
    });
    spans.push(span);
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
