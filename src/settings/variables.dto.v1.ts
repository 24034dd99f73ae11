import { MAX_CURSOR, MAX_VARIABLE_NAME, MAX_VARIABLES } from '../domain/limits.js';
import { Nullable } from '../contract/fields/field.js';
import { JsonAsWritten, Label, Parts } from '../contract/fields/kinds.js';
import type { JsonText } from '../contract/json/json-text.js';

export class VariableFields {
  @JsonAsWritten('Any JSON, at most 4,096 bytes.') value!: JsonText;
}

export class VariableAnswer {
  @Label('Its name.', { max: MAX_VARIABLE_NAME }) name!: string;
  @JsonAsWritten('Its value, as it was written.') value!: unknown;
}

export class VariablesPage {
  @Parts('The variables of this page.', () => VariableAnswer, MAX_VARIABLES)
  items!: readonly VariableAnswer[];
  @Nullable()
  @Label('The cursor of the next page; null on the last one.', { max: MAX_CURSOR })
  next_cursor!: string | null;
}
