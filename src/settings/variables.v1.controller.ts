import { Controller, Delete, Get, Put, UseGuards } from '@nestjs/common';
import { BodyFields, InPath, QueryFields } from '../http/params.js';
import { pageIn, WholePageQuery } from '../http/request/page-query.js';
import type { Caller } from '../domain/caller.js';
import { notFound } from '../domain/errors.js';
import { CurrentCaller } from '../auth/current-caller.js';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { JsonText } from '../contract/json/json-text.js';
import { Engines } from '../engine/engines.js';
import type { VariableCalls } from '../engine/engine.js';
import { Describe } from '../http/describe.js';
import { VariableAnswer, VariableFields, VariablesPage } from './variables.dto.v1.js';

const GROUP = 'Variables';
/** More than a value needs, in bytes: blanks around it, and escapes. */
const LIMIT = { maxBytes: 32_768 };
const READER = { queues: 'none', verb: 'consume' } as const;
const ADMIN = { queues: 'none', verb: 'admin' } as const;

/** Variables of a namespace on the native API. They are not of a queue, so tokens for some queues are rejected. */
@Controller('v1/:namespace/variables')
@UseGuards(TokenGuard)
export class V1VariablesController {
  constructor(private readonly engines: Engines) {}

  @Get()
  @Access(READER)
  @Describe({
    id: 'listVariables',
    about: 'Lists the variables of the namespace with their values, by name.',
    group: GROUP,
    query: WholePageQuery,
    answers: { 200: { about: 'A page of them.', of: VariablesPage } },
  })
  async list(@CurrentCaller() caller: Caller, @QueryFields() page: WholePageQuery) {
    const all = [...(await this.variablesOf(caller).list(caller.namespace))];
    return pageIn(all.map(variableFacts), ({ name }) => name, page);
  }

  @Get(':name')
  @Access(READER)
  @Describe({
    id: 'getVariable',
    about: 'Shows a variable.',
    group: GROUP,
    answers: { 200: { about: 'The variable.', of: VariableAnswer } },
    errors: ['variable_not_found'],
  })
  async get(@CurrentCaller() caller: Caller, @InPath('name') name: string) {
    return variableFacts([name, await this.variablesOf(caller).get(caller.namespace, name)]);
  }

  @Put(':name')
  @Access(ADMIN)
  @Describe({
    id: 'setVariable',
    about: 'Creates or replaces a variable.',
    group: GROUP,
    body: VariableFields,
    answers: { 200: { about: 'The variable.', of: VariableAnswer } },
  })
  async set(
    @CurrentCaller() caller: Caller,
    @InPath('name') name: string,
    @BodyFields(LIMIT) { value }: VariableFields,
  ) {
    await this.variablesOf(caller).set(caller.namespace, name, value.text);
    return { name, value };
  }

  @Delete(':name')
  @Access(ADMIN)
  @Describe({
    id: 'deleteVariable',
    about: 'Deletes a variable.',
    group: GROUP,
    answers: { 204: { about: 'It is deleted.' } },
    errors: ['variable_not_found'],
  })
  async remove(@CurrentCaller() caller: Caller, @InPath('name') name: string): Promise<void> {
    const existed = await this.variablesOf(caller).delete(caller.namespace, name);
    if (!existed) throw notFound('variable', name);
  }

  private variablesOf({ pool }: Caller): VariableCalls {
    return this.engines.of(pool).variables;
  }
}

function variableFacts([name, json]: readonly [string, string]): { name: string; value: JsonText } {
  return { name, value: new JsonText(json) };
}
