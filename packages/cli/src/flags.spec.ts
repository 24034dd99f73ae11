import { Command } from 'commander';
import { PublishFields } from '#src/contract/job/options';
import { RespawnFields } from '#src/contract/job/dead-jobs';
import { FieldFlags, flagOf } from './flags.js';

const JOB = new FieldFlags(PublishFields, {
  ...{ ttl_ms: {}, priority: {}, content_type: {}, history: {}, run_at: {} },
  tags: { flag: '--tag <tags>' },
  attributes: { flag: '--attribute <name=value>' },
});

function parse(...args: string[]): object {
  const command = JOB.addTo(new Command().exitOverride().configureOutput({ writeErr: () => undefined }));
  return JOB.given(command.parse(args, { from: 'user' }).opts());
}

describe('a flag of a field', () => {
  it('has the name of the field without its unit, and the first sentence of its meaning', () => {
    const shown = (name: string): string[] => {
      const { flags, description } = flagOf(PublishFields, name);
      return [flags, description];
    };
    expect(shown('id')).toEqual(['--id <id>', 'an id of your choice']);
    expect(shown('delay_ms')).toEqual(['--delay <time>', 'time until it can be leased (30s, 5m, 1h)']);
    expect(shown('tries')).toEqual(['--tries <n>', 'how many leases it may have (1 to 65535)']);
    expect(flagOf(RespawnFields, 'keep_tries')).toMatchObject({
      flags: '--keep-tries',
      description: 'they keep the tries that they had left, at least 1',
    });
  });

  it('gives the value under the name that the client has for the field', () => {
    expect(
      parse(
        ...['--ttl', '2m', '--priority', '-3', '--content-type', 'text/plain', '--history'],
        ...['--run-at', '2026-11-01T00:00:00Z', '--tag', 'a,b', '--tag', 'c', '--attribute', 'x=1'],
        ...['--attribute', 'y=2'],
      ),
    ).toEqual({
      ...{ ttlMs: 120_000, priority: -3, contentType: 'text/plain', history: true },
      ...{ runAt: '2026-11-01T00:00:00Z', tags: ['a', 'b', 'c'], attributes: { x: '1', y: '2' } },
    });
    expect(parse()).toEqual({});
  });

  it.each([
    [['--priority', '128'], 'It must be a whole number from -128 to 127.'],
    [['--priority', 'high'], 'It must be a whole number; it may be negative.'],
    [['--ttl', '5'], 'It must be a number with its unit: 500ms, 90s, 15m, 12h or 30d.'],
    [['--tag', 'a,a'], 'It must be a list of 0 to 32 different texts'],
    [['--run-at', 'tomorrow'], 'It must be a time such as 2026-01-31T23:59:59Z'],
  ])('refuses what the field does not allow: %j', (args, rule) => {
    expect(() => parse(...args)).toThrow(rule);
  });
});
