import { Command } from 'commander';
import { omit } from '#src/contract/fields/derived';
import { fieldsOf, Optional } from '#src/contract/fields/field';
import { Flag, OneOf, Part, Whole } from '#src/contract/fields/kinds';
import { PublishFields } from '#src/contract/job/options';
import { PauseQueueFields } from '#src/contract/queue-settings';
import { BreakerFields } from '#src/contract/targets';
import { FieldFlags, fieldsIn, flagOf } from './flags.js';
import { program } from './program.js';

const OPTIONS = omit(PublishFields, ['queue', 'data', 'data_base64']);
const JOB = new FieldFlags(OPTIONS, {
  tags: { flag: '--tag <tags>' },
  attributes: { flag: '--attribute <name=value>' },
});

function parse(...args: string[]): object {
  return parseWith(JOB, ...args);
}

function parseWith<T extends object>(flags: FieldFlags<T>, ...args: string[]): object {
  const command = flags
    .addTo(new Command().exitOverride().configureOutput({ writeErr: () => undefined }))
    .action(() => undefined);
  return flags.given(command.parse(args, { from: 'user' }).opts());
}

describe('a flag of a field', () => {
  class Fields {
    @Optional() @Whole('Time until `tries` end. Long text.', 0, 9_000) delay_ms?: number;
    @Optional() @Whole('How many leases.', 1, 9) tries?: number;
    @Optional() @Flag('True, instead of `tries`: they stay. Else not.') keep_tries?: boolean;
    @Optional() @OneOf('The `mode`; default `one`. `two`: other.', ['one', 'two']) on_some_mode?: string;
  }

  it('has the name of the field without its unit, and the first sentence of its meaning', () => {
    const shown = (name: string): string[] => {
      const { flags, description } = flagOf(Fields, name);
      return [flags, description];
    };
    expect(shown('delay_ms')).toEqual(['--delay <time>', 'time until --tries end (30s, 5m, 1h)']);
    expect(shown('tries')).toEqual(['--tries <n>', 'how many leases (1 to 9)']);
    expect(shown('keep_tries')).toEqual(['--keep-tries', 'they stay']);
  });

  it('offers the values of a field that has a few', () => {
    expect(flagOf(Fields, 'on_some_mode')).toMatchObject({
      ...{ flags: '--on-some-mode <mode>', description: 'the mode; default one', argChoices: ['one', 'two'] },
    });
  });

  it('gives null for an empty text, if the field may be null', () => {
    const jobs = new FieldFlags(PauseQueueFields);
    expect(parseWith(jobs, '--type', '')).toEqual({ type: null });
    expect(parseWith(jobs, '--type', 'sms')).toEqual({ type: 'sms' });
    expect(() => parseWith(jobs, '--fair-key', '')).toThrow('--fair-key');
  });

  it('gives the value under the name that the client has for the field', () => {
    expect(
      parse(
        ...['--ttl', '2m', '--priority', '-3', '--content-type', 'text/plain', '--history'],
        ...['--run-at', '2026-11-01T00:00:00Z', '--tag', 'a,b', '--tag', 'c', '--attribute', 'x=1'],
        ...['--attribute', 'y=2', '--depends-on', 'one,two', '--retention', '0', '--max-run', '1h'],
      ),
    ).toEqual({
      ...{ ttlMs: 120_000, priority: -3, contentType: 'text/plain', history: true },
      ...{ runAt: '2026-11-01T00:00:00Z', tags: ['a', 'b', 'c'], attributes: { x: '1', y: '2' } },
      ...{ dependsOn: ['one', 'two'], retentionMs: 0, maxRunMs: 3_600_000 },
    });
    expect(parse()).toEqual({});
  });

  it('sets the fields of an object, and the flag of its required field has the name of the object', () => {
    expect(
      parse(
        ...['--retry', 'list', '--retry-delays', '1s,30s,5m', '--retry-non-retryable', 'a,b'],
        ...['--unique', 'order=1,2', '--unique-mode', 'debounce', '--unique-window', '1h'],
      ),
    ).toEqual({
      retry: { kind: 'list', delaysMs: [1_000, 30_000, 300_000], nonRetryable: ['a', 'b'] },
      unique: { key: 'order=1,2', mode: 'debounce', windowMs: 3_600_000 },
    });
    expect(parse('--retry', 'exponential', '--retry-delay', '1s', '--retry-factor', '1.5')).toEqual({
      retry: { kind: 'exponential', delayMs: 1_000, factor: 1.5 },
    });
    expect(() => parse('--retry-delay', '1s')).toThrow('error: --retry-delay needs --retry <kind>');
  });

  it('is there for a field that is declared later, and for each field of an object', () => {
    class Limit {
      @Whole('The width.', 1, 9) width!: number;
      @Optional() @Whole('How long.', 0, 9_000) for_ms?: number;
    }
    class Later extends OPTIONS {
      @Optional() @Whole('Loudness.', 0, 11) volume?: number;
      @Optional() @Part('Its bounds.', () => Limit) bounds?: Limit;
    }
    const flags = new FieldFlags(Later);
    expect(parseWith(flags, '--volume', '11', '--bounds', '2', '--bounds-for', '3s')).toEqual({
      volume: 11,
      bounds: { width: 2, forMs: 3_000 },
    });
  });

  it.each([
    [['--priority', '128'], 'It must be a whole number from -128 to 127.'],
    [['--priority', 'high'], 'It must be a whole number; it may be negative.'],
    [['--ttl', '5'], 'It must be a number with its unit: 500ms, 90s, 15m, 12h or 30d.'],
    [['--ttl', '99999999d'], 'It must be a time from 0s to 49710d.'],
    [['--tag', 'a,a'], 'It must be a list of 0 to 32 different texts'],
    [['--run-at', 'tomorrow'], 'It must be a time such as'],
    [['--retry', 'sometimes'], 'It must be one of none, fixed, linear, exponential, list.'],
    [['--retry', 'list', '--retry-delays', '1s,2'], 'It must be a number with its unit'],
    [['--retry', 'exponential', '--retry-factor', 'two'], 'It must be a number.'],
    [['--depends-on', 'a/b'], 'It must be a list of 0 to'],
  ])('refuses what the field does not allow: %j', (args, rule) => {
    expect(() => parse(...args)).toThrow(rule);
  });
});

describe('fields in one text', () => {
  it('are read by their names without units, and an unknown name is refused', () => {
    expect(fieldsIn(BreakerFields, 'failures=3,open=10s')).toEqual({ failures: 3, openMs: 10_000 });
    expect(() => fieldsIn(BreakerFields, 'closes=3')).toThrow('It must have failures, failure-percent,');
    expect(() => fieldsIn(BreakerFields, 'failures=0')).toThrow('It must be a whole number from 1 to');
  });
});

describe('pumphouse job publish', () => {
  it('has a flag for each option of a job', () => {
    const root = program({ out: () => undefined, err: () => undefined });
    const command = root.commands
      .find((one) => one.name() === 'job')
      ?.commands.find((one) => one.name() === 'publish');
    const flags = command?.options.flatMap(({ long }) => long ?? []);
    const without = [...fieldsOf(OPTIONS)].filter(([name, { of }]) => {
      const flag = `--${name
        .replace(/_ms$/, '')
        .replaceAll('_', '-')
        .replace(/^(tag|attribute)s$/, '$1')}`;
      const inside = of === undefined ? [] : [...fieldsOf(of()).keys()].slice(1);
      const all = [flag === '--push' ? '--push-url' : flag, ...inside.map((one) => `${flag}-${one}`)];
      return all.some((one) => !flags?.includes(one.replace(/_ms$/, '').replaceAll('_', '-')));
    });
    expect(without.map(([name]) => name)).toEqual([]);
  });
});
