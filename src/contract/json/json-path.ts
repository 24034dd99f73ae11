/** A step from a list or an object to what is in it: `any` is each item or member. */
type Step = string | number | { readonly any: true };

/** Names places in JSON: the form is a part of RFC 9535. */
export interface JsonPath {
  /** Names of members and indexes of items, from the outside in; none = the whole value. */
  readonly steps: readonly Step[];
  /** True: the last step matches at any depth below those before it. */
  readonly isDeep: boolean;
}

const ANY: Step = { any: true };
const NAME = String.raw`[A-Za-z_\u0080-\uD7FF\uE000-\u{10FFFF}][\w\u0080-\uD7FF\uE000-\u{10FFFF}]*`;
const SINGLE = String.raw`'((?:[^'\\\u0000-\u001F]|\\[^"])*)'`;
const DOUBLE = String.raw`"((?:[^"\\\u0000-\u001F]|\\[^'])*)"`;
const STEP = new RegExp(
  String.raw`(\.\.?)(${NAME})|(\.\.)?\[(?:${SINGLE}|${DOUBLE})\]|\[(0|[1-9]\d{0,8})\]|\.\*|\[\*\]`,
  'uy',
);

/**
 * Reads `$`, `.name`, `['name']`, `[0]`, `[*]`, `.*`, and `..name` at the end.
 *
 * @returns undefined for any other text
 */
export function parseJsonPath(text: string): JsonPath | undefined {
  if (!text.startsWith('$')) return undefined;
  const steps: Step[] = [];
  let isDeep = false;
  for (let at = 1; at < text.length; at = STEP.lastIndex) {
    STEP.lastIndex = at;
    const found = STEP.exec(text);
    // Nothing may follow a step of any depth: so a value matches each path in one way at most.
    if (found === null || isDeep) return undefined;
    const [, dots, name, deep, single, double, index] = found;
    const step = index === undefined ? (name ?? unquoted(single, double)) : Number(index);
    if (step === undefined) return undefined;
    isDeep = dots === '..' || deep !== undefined;
    steps.push(step);
  }
  return { steps, isDeep };
}

/** @returns `ANY` if there is no quoted name; undefined if it has a wrong escape */
function unquoted(single: string | undefined, double: string | undefined): Step | undefined {
  const json =
    double ??
    single?.replaceAll(/\\[^]|"/g, (part) => (part === '"' ? String.raw`\"` : part === "\\'" ? "'" : part));
  if (json === undefined) return ANY;
  try {
    return JSON.parse(`"${json}"`) as string;
  } catch {
    return undefined;
  }
}
