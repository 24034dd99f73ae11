import { ModulesContainer } from '@nestjs/core';
import 'reflect-metadata';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { type Field, type FieldsClass, fieldsOf } from '../../src/contract/fields/field.js';
import { camelOf } from '../../src/contract/fields/wire.js';
import { BodyPipe, QueryPipe } from '../../src/http/params.js';
import { type Call, callsOf } from '../../src/openapi/calls.js';
import { TestApp } from '../support/app.js';

const HOT = 'it is made for every job, and its answer is written by hand';
const FAST_PATH = 'the fast path serves it too: `V1LeaseOperations` reads and writes it by its classes';

/** Calls that answer themselves: `CallInterceptor` does not write what their handlers return. */
const ANSWERED_BY_HAND: Readonly<Record<string, string>> = {
  publishJobs: HOT,
  leaseJobs: HOT,
  ackJobs: HOT,
  ackJob: HOT,
  heartbeatJob: FAST_PATH,
  releaseJob: FAST_PATH,
  retryJob: FAST_PATH,
  failJob: FAST_PATH,
  streamEvents: 'a stream without an end',
  getOpenApiDocument: 'the document itself',
};

/** Calls whose handlers do not get their body as an object of its class. */
const BODY_BY_HAND: Readonly<Record<string, string>> = {
  publishJobs: 'one job or a list: `publishRequestOf` reads it by both classes',
  putJob: 'read by its class together with the id in the path, so that all mistakes are in one answer',
  leaseJobs: 'the fast path serves it too: `V1Leasing` reads it by its class',
  ackJobs: 'a batch of plain acks is read in one pass; `acksOf` reads others by their class',
  ackJob: FAST_PATH,
  heartbeatJob: FAST_PATH,
  releaseJob: FAST_PATH,
  retryJob: FAST_PATH,
  failJob: FAST_PATH,
  updateSetting: 'the bounds of the value depend on the setting',
};

/** Calls whose handlers do not get their parameters as an object of their class. */
const QUERY_BY_HAND: Readonly<Record<string, string>> = {
  publishJobs: 'the fast path serves it too: `V1Publishing` reads it by its class',
  streamEvents: 'a filter may be given again, and has its own rules',
  getStatistics: 'its rules say what a parameter that is left out means',
};

/** Files of the native API that rename a field themselves. */
const RENAMED_BY_HAND: Readonly<Record<string, string>> = {
  'contract/job/new-job.ts': 'every publish: one option less to convert',
  'jobs/v1/job-answers.v1.ts': HOT,
  'jobs/v1/leasing.v1.ts': 'every lease: the request has fields that the engine has not',
  'queues/queues.v1.ts': '`push.max_running` is the setting `max_running`',
};

interface Argument {
  readonly index: number;
  readonly pipes?: readonly unknown[];
}

describe('the contract of the native API', () => {
  let app: TestApp;
  let calls: Call[];
  beforeAll(async () => {
    app = await TestApp.start();
    calls = callsOf(app.server.api.app.get(ModulesContainer));
    expect(calls.length).toBeGreaterThan(60);
  });
  afterAll(() => app.stop());

  const named = (wanted: (call: Call) => boolean): string[] =>
    calls.flatMap((call) => (wanted(call) ? [call.description.id] : [])).sort();

  /** The class of the parameter that a pipe reads. */
  const classReadBy = ({ owner, name }: Call, pipe: unknown): unknown => {
    const found = Object.values(argumentsOf({ owner, name })).find(({ pipes }) => pipes?.includes(pipe));
    const types = Reflect.getMetadata('design:paramtypes', owner, name) as readonly unknown[];
    return found && types[found.index];
  };

  it('reads each body by the class that describes it, except for the calls listed in the test', () => {
    const byHand = named((call) => call.description.body !== classReadBy(call, BodyPipe));
    expect(byHand).toEqual(Object.keys(BODY_BY_HAND).sort());
  });

  it('reads the parameters of each call by the class that describes them, except for the calls listed in the test', () => {
    const byHand = named((call) => call.description.query !== classReadBy(call, QueryPipe));
    expect(byHand).toEqual(Object.keys(QUERY_BY_HAND).sort());
  });

  it('writes each answer by the class that describes it, except for the calls listed in the test', () => {
    const byHand = named(({ owner, name, description: { answers } }) => {
      const takesReply = Object.keys(argumentsOf({ owner, name })).some((key) =>
        key.startsWith(`${String(RouteParamtypes.RESPONSE)}:`),
      );
      const classes = new Set(Object.values(answers).flatMap(({ of }) => of ?? []));
      const hasBody = Object.values(answers).some(({ of, type }) => of !== undefined || type !== undefined);
      return takesReply || (hasBody && classes.size !== 1);
    });
    expect(byHand).toEqual(Object.keys(ANSWERED_BY_HAND).sort());
  });

  it('declares each field of each request and answer with its kind', () => {
    const known = new Set<FieldsClass>();
    const undeclared: string[] = [];
    const visit = (of: FieldsClass): void => {
      if (known.has(of)) return;
      known.add(of);
      const fields = [...fieldsOf(of)];
      if (fields.length === 0) undeclared.push(of.name);
      for (const [name, field] of fields) {
        if (!isDeclared(field)) undeclared.push(`${of.name}.${name}`);
        if (field.of) visit(field.of());
      }
    };
    for (const { description } of calls) {
      const { body = [], query = [], answers } = description;
      const classes = [body, query, ...Object.values(answers).map(({ of = [] }) => of)].flat();
      for (const of of classes) visit(of);
    }
    expect(known.size).toBeGreaterThan(80);
    expect(undeclared).toEqual([]);
  });

  it('renames fields between wire and engine in one place, but for named files', () => {
    const root = join(import.meta.dirname, '..', '..', 'src');
    const folders = /^(?:contract|jobs|queues|recurring|deadletter|events|sessions|stats|settings|push)\//;
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
      folders.test(file),
    );
    expect(files.length).toBeGreaterThan(80);
    const renaming = files.filter((file) => {
      if (!file.endsWith('.ts') || /\.spec\.|lmstfy/.test(file)) return false;
      return readFileSync(join(root, file), 'utf8').split('\n').some(spellsTwice);
    });
    expect(renaming.sort()).toEqual(Object.keys(RENAMED_BY_HAND).sort());
  });
});

function argumentsOf({ owner, name }: Pick<Call, 'owner' | 'name'>): Readonly<Record<string, Argument>> {
  const found: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, owner.constructor, name);
  return (found ?? {}) as Readonly<Record<string, Argument>>;
}

/** True if a line of code has a field by both of its names. Lines of the log have names of their own. */
function spellsTwice(line: string): boolean {
  if (/^\s*(?:\/?\*|\/\/)|log\.info/.test(line)) return false;
  const names = line.replaceAll(/'[^']*'/g, '').matchAll(/\b[a-z]+(?:_[a-z0-9]+)+\b/g);
  return [...names].some(([name]) => new RegExp(`\\b${camelOf(name)}(?:Ms)?\\b`).test(line));
}

/** It has a rule, or a class whose fields have one. */
function isDeclared({ of, rule }: Field): boolean {
  return of !== undefined || rule !== '';
}
