import { MAX_CURSOR } from '../domain/limits.js';
import { SETTING_KEYS } from '../engine/queues/known-settings.js';
import { Nullable } from '../contract/fields/field.js';
import { Label, OneOf, Parts, Whole } from '../contract/fields/kinds.js';

/* Documents the settings for OpenAPI. Each setting has its own range, which the call itself checks. */

const MANY = Number.MAX_SAFE_INTEGER;

export class ChosenSettingFields {
  @Whole('The new value, from the `min` to the `max` of the setting.', 0, MANY) value!: number;
}

export class NamespaceSettingAnswer {
  @OneOf('Its name.', SETTING_KEYS) key!: string;
  @Whole('The current value.', 0, MANY) value!: number;
  @Whole('The default.', 0, MANY) default!: number;
  @OneOf(
    'Where the value comes from: the namespace, the configuration of the server, or the built-in default.',
    ['namespace', 'server', 'built_in'],
  )
  source!: string;
  @Whole('The least value.', 0, MANY) min!: number;
  @Whole('The greatest value.', 0, MANY) max!: number;
}

export class NamespaceSettingsPage {
  @Parts('The settings of this page.', () => NamespaceSettingAnswer, SETTING_KEYS.length)
  items!: readonly NamespaceSettingAnswer[];
  @Nullable()
  @Label('The cursor of the next page; null on the last one.', { max: MAX_CURSOR })
  next_cursor!: string | null;
}
