import { SETTING_KEYS } from '../engine/queues/known-settings.js';
import { Nullable } from '../http/fields/field.js';
import { Label, OneOf, Parts, Whole } from '../http/fields/kinds.js';

/* Documents the settings for OpenAPI. Each setting has its own range, which the call itself checks. */

const MANY = Number.MAX_SAFE_INTEGER;

export class ChosenSettingFields {
  @Whole('What is to hold, from the `min` to the `max` of the setting.', 0, MANY) value!: number;
}

export class NamespaceSettingAnswer {
  @OneOf('Its name.', SETTING_KEYS) key!: string;
  @Whole('What holds.', 0, MANY) value!: number;
  @Whole('What holds if the namespace chooses nothing.', 0, MANY) default!: number;
  @OneOf('Who says so: the namespace, the configuration of the server, or nobody.', [
    'namespace',
    'server',
    'built_in',
  ])
  source!: string;
  @Whole('The least value.', 0, MANY) min!: number;
  @Whole('The greatest value.', 0, MANY) max!: number;
}

export class NamespaceSettingsPage {
  @Parts('All settings there are.', () => NamespaceSettingAnswer, SETTING_KEYS.length)
  items!: readonly NamespaceSettingAnswer[];
  @Nullable() @Label('Always null: they fit one page.', { max: 1 }) next_cursor!: null;
}
