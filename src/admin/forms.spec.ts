import { readForm, readLimit } from './forms.js';

describe('readForm', () => {
  it('reads a urlencoded body whose Content-Type has parameters', () => {
    const type = 'Application/X-WWW-Form-URLencoded; charset=utf-8';
    expect(readForm(type, 'description=from+form&token=a%3Ab&description=second')).toEqual({
      description: 'from form',
      token: 'a:b',
    });
  });

  it('returns no fields for another Content-Type or no body', () => {
    expect(readForm('application/json', '{"description":"x"}')).toEqual({});
    expect(readForm(undefined, 'description=x')).toEqual({});
    expect(readForm('application/x-www-form-urlencoded', undefined)).toEqual({});
  });
});

describe('rate limits of a token', () => {
  it.each([
    ['{"read":2,"write":3,"interval":4}', { read: 2, write: 3, interval: 4 }],
    ['{"READ":2,"other":[]}', { read: 2, write: 0, interval: 0 }],
    ['{"read":-1,"write":null}', { read: -1, write: 0, interval: 0 }],
    ['null', { read: 0, write: 0, interval: 0 }],
  ])('are read from the body %s', (body, limit) => {
    expect(readLimit(body)).toEqual(limit);
  });

  it.each([
    '',
    '{bad',
    '[]',
    '"x"',
    '7',
    '{"read":"1"}',
    '{"read":1.5}',
    '{"read":1e300}',
    '{"interval":true}',
  ])('are refused in the body %s', (body) => {
    expect(() => readLimit(body)).toThrow('invalid limiter');
  });

  it('are refused without a body', () => {
    expect(() => readLimit(undefined)).toThrow('invalid limiter');
  });
});
