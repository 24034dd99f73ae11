import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type FieldProblem, InputError } from '../../contract/fields/problems.js';
import { parseQuery } from './head.js';
import { fieldsOf, Nullable, Optional } from '../../contract/fields/field.js';
import {
  AnyJson,
  Base64,
  Flag,
  Formed,
  JobId,
  JobIds,
  Label,
  Labels,
  Moment,
  OneOf,
  Part,
  Parts,
  QueueName,
  QueueNames,
  Real,
  Text,
  TextsByName,
  Whole,
  Wholes,
} from '../../contract/fields/kinds.js';
import { readFields } from '../../contract/fields/read.js';
import { readQuery } from './query-fields.js';

class Leaf {
  @Whole('', 1, 5) depth!: number;
}

class Base {
  @QueueName('') queue!: string;
}

class Everything extends Base {
  @Optional() @Label('', { max: 5 }) label?: string;
  @Optional() @Text('', { max: 5 }) text?: string;
  @Optional() @Formed('', /^a+$/, 'must be of the letter a') formed?: string;
  @Optional() @Labels('', { max: 2 }, { max: 3 }) labels?: string[];
  @Optional() @QueueNames('', { max: 2 }) queues?: string[];
  @Optional() @JobId('') id?: string;
  @Optional() @JobIds('', { max: 2 }) ids?: string[];
  @Optional() @Whole('', -3, 3) whole?: number;
  @Optional() @Wholes('', { max: 2 }, 0, 9) wholes?: number[];
  @Optional() @Real('', 0, 1) real?: number;
  @Optional() @Flag('') flag?: boolean;
  @Optional() @OneOf('', ['a', 'b']) one?: string;
  @Optional() @Moment('') at?: string;
  @Optional() @Base64('') bytes?: string;
  @Optional() @AnyJson('') json?: unknown;
  @Optional()
  @TextsByName('', { count: 2, name: /^[a-z]+$/, nameRule: 'letters', max: 3 })
  texts?: Record<string, string>;
  @Optional() @Part('', () => Leaf) leaf?: Leaf;
  @Optional() @Parts('', () => Leaf, 3) leaves?: Leaf[];
  @Optional() @Parts('', () => Leaf, 1, 0) leavesOrNone?: Leaf[];
  @Optional() @Nullable() @Whole('', 0, 1) maybe?: number | null;
  @Optional() @Nullable() @Part('', () => Leaf) leafOrNull?: Leaf | null;
}

class Needy {
  @Part('', () => Leaf) leaf!: Leaf;
}

function problemsOf(read: () => unknown): readonly FieldProblem[] {
  try {
    read();
  } catch (error) {
    if (error instanceof InputError) return error.problems;
    throw error;
  }
  return [];
}

const of = (value: unknown): readonly FieldProblem[] => problemsOf(() => readFields(Everything, value));
const fieldsIn = (value: unknown): string[] => of(value).map(({ field }) => field);

/** Unicode and dates are checked more closely than a schema can say. */
const SCHEMAS_ALLOW: readonly unknown[] = ['\ud800', '2026-01-31T23:59:59.1234567890Z'];

describe('the fields of a JSON body', () => {
  const schemas = new Ajv2020({ unicodeRegExp: true });
  addFormats.default(schemas);

  it.each<[string, unknown[], unknown[]]>([
    ['label', ['a', 'äöü', 'a b'], ['', 'abcdef', 'a\nb', '\ud800', 1, null, ['a'], {}]],
    ['text', ['a\nb'], ['', 'abcdef', '\ud800', 1, null]],
    ['formed', ['aaa'], ['', 'b', 1, ['a']]],
    ['labels', [[], ['a', 'b']], [['a', 'a'], ['a', 'b', 'c'], ['abcd'], [''], ['a\n'], [1], 'a', {}]],
    ['queues', [['a', 'b-_']], [[], ['a', 'a'], ['_a'], ['a b'], ['a'.repeat(256)], 'a']],
    ['id', ['a-_1', 'A'.repeat(128)], ['', '_a', 'A'.repeat(129), 'a/b', 1]],
    ['ids', [['a', 'b']], [[], ['a', 'a'], ['a', 'b', 'c'], ['_'], 'a']],
    ['whole', [-3, 0, 3], [4, -4, 1.5, '1', true, null, 1e300, [1]]],
    ['wholes', [[1, 1]], [[], [1, 2, 3], [10], ['1']]],
    ['real', [0, 0.5, 1], [-0.1, 1.1, '1', null]],
    ['flag', [true, false], ['true', 1, null]],
    ['one', ['a', 'b'], ['c', '', null, ['a']]],
    [
      'at',
      [
        '2026-01-31T23:59:59.999Z',
        '2026-01-31T23:59:59Z',
        '2026-01-31T23:59:59.1+02:00',
        '2026-01-31T23:59:59.123456789Z',
      ],
      [
        '2026-01-31',
        '2026-02-31T00:00:00',
        '2026-13-01T00:00:00Z',
        '2026-02-30T00:00:00Z',
        'yesterday',
        5,
        '2026-01-31T23:59:59.1234567890Z',
      ],
    ],
    ['bytes', ['', 'YQ==', 'YWI=', 'YWJj'], ['YQ', 'YQ=', 'Y?==', 'Y Q=', 5, '====']],
    ['json', [null, 0, '', {}, [], { a: 1 }], []],
    [
      'texts',
      [{}, { a: '', b: 'abc' }],
      [{ a: 'abcd' }, { A: '' }, { a: 1 }, { a: '', b: '', c: '' }, [], 'a', null],
    ],
    ['leaf', [{ depth: 1 }], [[], 'a', null]],
    [
      'leaves',
      [[{ depth: 1 }, { depth: 5 }]],
      [[], {}, 'a', null, Array.from({ length: 4 }, () => ({ depth: 1 }))],
    ],
    ['leavesOrNone', [[], [{ depth: 1 }]], [{}, null, [{ depth: 1 }, { depth: 1 }]]],
    ['maybe', [null, 1], [2, '']],
    ['leafOrNull', [null, { depth: 2 }], ['']],
  ])('are checked as their declaration and their JSON schema say: %s', (name, right, wrong) => {
    for (const value of right) {
      expect(of({ queue: 'q', [name]: value })).toEqual([]);
      expect(readFields(Everything, { queue: 'q', [name]: value })).toHaveProperty(name, value);
    }
    for (const value of wrong) expect(fieldsIn({ queue: 'q', [name]: value })).toEqual([name]);
    // The schema in the API document must not say anything else.
    const { schema, of: parts, isNullable } = fieldsOf(Everything).get(name)!;
    if (parts === undefined) {
      const isValid = schemas.compile(schema);
      expect(right.filter((value) => (value !== null || !isNullable) && !isValid(value))).toEqual([]);
      expect(wrong.filter((value) => isValid(value) && !SCHEMAS_ALLOW.includes(value))).toEqual([]);
    }
  });

  it('are reported all at once, with path and rule, if they are wrong', () => {
    expect(of({ whole: 9, leaves: [{ depth: 1 }, { depth: 0, width: 1 }, 5], leaf: {} })).toEqual([
      { field: 'whole', rule: 'must be a whole number from -3 to 3' },
      { field: 'leaves[1].depth', rule: 'must be a whole number from 1 to 5' },
      { field: 'leaves[1].width', rule: 'unknown field; known: depth' },
      { field: 'leaves[2]', rule: 'must be an object with depth' },
      { field: 'leaf.depth', rule: 'is missing: it must be a whole number from 1 to 5' },
      { field: 'queue', rule: expect.stringMatching(/^is missing: it must be a queue's name/) as string },
    ]);
    expect(problemsOf(() => readFields(Needy, {}))).toEqual([{ field: 'leaf', rule: 'is missing' }]);
  });

  it.each([
    ['lab', 'label'],
    ['lable', 'label'],
    ['whle', 'whole'],
    ['leaff', 'leaf'],
    ['hole', 'whole'],
    ['xy', undefined],
    ['wh', undefined],
    ['something', undefined],
    ['', undefined],
  ])('are suggested for an unknown name only if it is similar: %s', (name, meant) => {
    const rule = meant === undefined ? 'unknown field' : `unknown field; did you mean ${meant}?`;
    expect(of({ queue: 'q', [name]: 1 })).toEqual([{ field: name, rule }]);
  });

  it.each([[null], ['a'], [5], [[]], [undefined]])('must be in an object: %j is refused', (value) => {
    expect(of(value)).toEqual([{ field: '', rule: 'must be an object' }]);
  });

  it('are refused with names that JavaScript objects inherit, such as __proto__', () => {
    const text =
      '{"queue":"q","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1}';
    expect(fieldsIn(JSON.parse(text))).toEqual(['__proto__', 'constructor', 'toString']);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    // Inherited values are ignored too.
    expect(fieldsIn(Object.create({ queue: 'q' }))).toEqual(['queue']);
    expect(fieldsIn({ queue: 'q', texts: JSON.parse('{"__proto__":"a"}') as unknown })).toEqual(['texts']);
  });

  it('are reported up to 20 problems and 40 characters of a name', () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`x${String(i)}`.repeat(50), i]));
    expect(of(many)).toHaveLength(20);
    expect(Math.max(...of(many).map(({ field }) => field.length))).toBe(40);
    const leaves = Array.from({ length: 3 }, () => many);
    expect(of({ queue: 'q', leaves })).toHaveLength(20);
  });
});

describe('the parameters of a query', () => {
  const read = (text: string): Everything => readQuery(Everything, parseQuery(text));

  it('are converted from text to numbers, booleans and lists', () => {
    const { queue, whole, flag, labels } = read('queue=q&whole=-2&flag=true&labels=a,b&token=default:x');
    expect({ queue, whole, flag, labels }).toEqual({ queue: 'q', whole: -2, flag: true, labels: ['a', 'b'] });
  });

  it.each([
    ['queue=q&whole=1e1', 'whole'],
    ['queue=q&whole=', 'whole'],
    ['queue=q&whole=%201', 'whole'],
    ['queue=q&flag=1', 'flag'],
    ['queue=q&lmit=5', 'lmit'],
    ['queue=q&labels=a,a', 'labels'],
    ['whole=1', 'queue'],
  ])('are refused if one is invalid: %s', (text, field) => {
    expect(problemsOf(() => read(text)).map((problem) => problem.field)).toEqual([field]);
  });
});
