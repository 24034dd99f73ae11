import type { Variable } from '@pumphouse/client';
import { notFound } from '#src/domain/errors';
import type { Engine, VariableCalls } from '#src/engine/engine';
import { type CallOptions, repeat, repeatRemoval } from './calls.js';
import { invalidField } from './errors.js';

/** Variables of the namespace: the methods that `variables` of the HTTP client has. */
export class EngineVariables {
  private readonly variables: VariableCalls;

  constructor(
    engine: Engine,
    private readonly namespace: string,
  ) {
    this.variables = engine.variables;
  }

  /** All variables, by name. */
  list({ signal }: CallOptions = {}): Promise<readonly Variable[]> {
    return repeat(async () => {
      const found = [...(await this.variables.list(this.namespace))];
      return found.sort(([one], [other]) => (one < other ? -1 : 1)).map(variableOf);
    }, signal);
  }

  /** The value of a variable. @throws {PumphouseError} `variable_not_found` */
  get(name: string, { signal }: CallOptions = {}): Promise<unknown> {
    return repeat(async () => parsed(await this.variables.get(this.namespace, name)), signal);
  }

  /** Creates or replaces a variable. @param value any JSON, at most 4,096 bytes */
  set(name: string, value: unknown, { signal }: CallOptions = {}): Promise<void> {
    return repeat(async () => {
      const json = JSON.stringify(value) as string | undefined;
      if (json === undefined) throw invalidField('value', 'must be JSON');
      await this.variables.set(this.namespace, name, json);
    }, signal);
  }

  /** @throws {PumphouseError} `variable_not_found` */
  delete(name: string, { signal }: CallOptions = {}): Promise<void> {
    const remove = async (): Promise<void> => {
      if (!(await this.variables.delete(this.namespace, name))) throw notFound('variable', name);
    };
    return repeatRemoval('variable_not_found', remove, signal);
  }
}

function variableOf([name, json]: readonly [string, string]): Variable {
  return { name, value: parsed(json) };
}

function parsed(json: string): unknown {
  return JSON.parse(json) as unknown;
}
