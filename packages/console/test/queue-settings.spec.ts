import { changesOf, fieldOf, SETTINGS } from '../src/lib/queue-settings.js';
import type { Queue } from '../src/lib/types.js';

const QUEUE = {
  ...{
    queue: 'mail',
    max_running: 20,
    max_running_per_key: null,
    rate: { rate: 100, period_ms: 1_000, burst: 20 },
  },
  ...{
    rate_per_key: null,
    max_kept: null,
    lease_grace_ms: null,
    expired: 'back',
    index_tags: true,
    fair: true,
    order: null,
    on_dead: 'continue',
    defaults: {},
  },
} as unknown as Queue;

describe('the form of the settings of a queue', () => {
  const before = new Map(
    SETTINGS.map((setting) => [setting.name as string, fieldOf(setting, QUEUE, '{"tries":5}')]),
  );
  const changed = (name: string, text: string) => () =>
    changesOf(new Map([...before, [name, text]]), before).get(name);

  it('has the value that a queue has among the choices, so that a browser selects no other one', () => {
    for (const { name, kind, choices = ['on', 'off'] } of SETTINGS)
      if (kind === 'choice' || kind === 'flag')
        expect([name, choices]).toEqual([name, expect.arrayContaining([before.get(name)])]);
  });

  it('shows the values as text', () => {
    expect(Object.fromEntries(before)).toMatchObject({
      max_running: '20',
      rate: '100/1 burst 20',
      expired: 'back',
      index_tags: 'on',
      fair: 'on',
      defaults: '{"tries":5}',
    });
  });

  it.each([
    ['max_running', '5', '5'],
    ['max_running', '', 'null'],
    ['rate', '10/60', '{"rate":10,"period_ms":60000}'],
    ['rate', '5 / 0.5 burst 2', '{"rate":5,"period_ms":500,"burst":2}'],
    ['index_tags', 'off', 'false'],
    ['expired', 'front', '"front"'],
    ['fair', 'off', 'false'],
    ['fair', '{"weights":{"big":3}}', '{"weights":{"big":3}}'],
    ['defaults', '{"ttr_ms":60000}', '{"ttr_ms":60000}'],
    ['redact', '["$.card.number","$..email"]', '["$.card.number","$..email"]'],
  ])('sends %s %j as %s', (name, text, expected) => {
    expect(changed(name, text)()).toBe(expected);
  });

  it.each([
    ['max_running', '0'],
    ['max_running', '1.5'],
    ['max_running', 'x'],
    ['rate', '100'],
    ['rate', '0/1'],
    ['rate', '100000/1'],
    ['expired', 'middle'],
    ['fair', 'yes'],
    ['fair', '[1]'],
    ['defaults', '[1]'],
    ['defaults', '{"a":}'],
    ['redact', '$.card'],
    ['redact', '["card"]'],
    ['redact', '[]'],
    ['redact', '[1]'],
  ])('refuses %s %j', (name, text) => {
    expect(changed(name, text)).toThrow(/must be/);
  });

  it('does not send a field that is not in the form', () => {
    const fields = new Map([['max_running', '5']]);
    const stored = new Map([...before, ['redact', '["$.card"]']]);
    expect([...changesOf(fields, stored)]).toEqual([['max_running', '5']]);
  });

  it('refuses to send nothing', () => {
    expect(() => changesOf(before, before)).toThrow('No setting has changed.');
  });
});
