import { Controller, Delete, Get, Put, UseGuards } from '@nestjs/common';
import { InPath, QueryFields } from '../http/params.js';
import { pageIn, WholePageQuery } from '../http/request/page-query.js';
import { accountOf } from '../http/request/account-client.js';
import { CurrentRequest } from '../http/request/current-request.js';
import type { Caller } from '../domain/caller.js';
import { CurrentCaller } from '../auth/current-caller.js';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Engines } from '../engine/engines.js';
import type { SettingCalls } from '../engine/engine.js';
import { SETTING_KEYS, type SettingKey } from '../engine/queues/known-settings.js';
import { wholeBody } from '../http/request/body.js';
import { Describe } from '../http/describe.js';
import type { RequestContext } from '../http/request/request-context.js';
import { ChosenSettingFields, NamespaceSettingAnswer, NamespaceSettingsPage } from './dto.v1.js';
import { keyOf, settingFacts, valueOf } from './settings.v1.js';

/** Enough for a number and its field name, in bytes. */
const LIMIT = { maxBytes: 1_024 };

/** Settings of a namespace on the native API. They apply to all of its queues, so tokens for some queues are rejected. */
@Controller('v1/:namespace/settings')
@UseGuards(TokenGuard)
export class V1SettingsController {
  constructor(private readonly engines: Engines) {}

  @Get()
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    id: 'listSettings',
    about: 'Lists the settings of the namespace with their values, by name.',
    group: 'Settings',
    query: WholePageQuery,
    answers: { 200: { about: 'A page of them.', of: NamespaceSettingsPage } },
  })
  async list(@CurrentCaller() caller: Caller, @QueryFields() page: WholePageQuery) {
    const { defaults, chosen } = await this.read(caller);
    const all = SETTING_KEYS.map((key) => settingFacts(key, defaults, chosen));
    return pageIn(all, ({ key }) => key, page);
  }

  @Get(':key')
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    id: 'getSetting',
    about: 'Shows a setting.',
    group: 'Settings',
    answers: { 200: { about: 'The setting.', of: NamespaceSettingAnswer } },
  })
  get(@CurrentCaller() caller: Caller, @InPath('key') key: string) {
    return this.show(caller, keyOf(key));
  }

  /** Sets `{"value":…}`. */
  @Put(':key')
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    id: 'updateSetting',
    about: 'Sets a setting.',
    group: 'Settings',
    body: ChosenSettingFields,
    answers: { 200: { about: 'The setting.', of: NamespaceSettingAnswer } },
  })
  async set(@CurrentRequest() context: RequestContext, @InPath('key') name: string) {
    const { caller } = context;
    const key = keyOf(name);
    const value = valueOf(key, await wholeBody(context, LIMIT));
    // guard: audit-has-settings
    accountOf(context.request)?.recordRequest({ value });
    await this.settingsOf(caller).set(caller.namespace, key, value);
    return this.show(caller, key);
  }

  /** Resets a setting to its default; succeeds if it was not set. */
  @Delete(':key')
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    id: 'resetSetting',
    about: 'Resets a setting to its default.',
    group: 'Settings',
    answers: { 204: { about: 'It holds.' } },
  })
  async unset(@CurrentCaller() caller: Caller, @InPath('key') key: string): Promise<void> {
    await this.settingsOf(caller).unset(caller.namespace, keyOf(key));
  }

  private async show(caller: Caller, key: SettingKey) {
    const { defaults, chosen } = await this.read(caller);
    return settingFacts(key, defaults, chosen);
  }

  private async read(caller: Caller) {
    const settings = this.settingsOf(caller);
    return { defaults: settings.defaults, chosen: await settings.chosen(caller.namespace) };
  }

  private settingsOf({ pool }: Caller): SettingCalls {
    return this.engines.of(pool).settings;
  }
}
