import { Controller, Delete, Get, Put, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { EngineRegistry } from '../engine/migration/engine.registry.js';
import type { Queues } from '../engine/migration/served-queues.js';
import type { SettingKey } from '../engine/queues/known-settings.js';
import { answer, answerNothing, asciiJson } from '../http/answer/answer.js';
import { wholeBody } from '../http/request/body.js';
import { Describe } from '../http/describe.js';
import type { RequestContext } from '../http/request/request-context.js';
import { InPath, Incoming } from '../http/incoming.js';
import { ChosenSettingFields, NamespaceSettingAnswer, NamespaceSettingsPage } from './dto.v1.js';
import { keyOf, settingJson, settingsJson, valueOf } from './settings.v1.js';

/** Enough for a number and its field name, in bytes. */
const LIMIT = { maxBytes: 1_024 };

/** Settings of a namespace on the native API. They apply to all of its queues, so tokens for some queues are rejected. */
@Controller('v1/:namespace/settings')
@UseGuards(TokenGuard)
export class V1SettingsController {
  constructor(private readonly engines: EngineRegistry) {}

  /** Returns all settings with their effective values. */
  @Get()
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    id: 'listSettings',
    about: 'Returns all settings of the namespace with their values.',
    group: 'Settings',
    answers: { 200: { about: 'The settings.', of: NamespaceSettingsPage } },
  })
  async list(@Incoming() context: RequestContext): Promise<void> {
    const { defaults, chosen } = await this.read(context);
    answer(context, 200, asciiJson(settingsJson(defaults, chosen)));
  }

  @Get(':key')
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    id: 'getSetting',
    about: 'Shows a setting.',
    group: 'Settings',
    answers: { 200: { about: 'The setting.', of: NamespaceSettingAnswer } },
  })
  async get(@Incoming() context: RequestContext, @InPath('key') key: string): Promise<void> {
    await this.show(context, keyOf(key));
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
  async set(@Incoming() context: RequestContext, @InPath('key') name: string): Promise<void> {
    const key = keyOf(name);
    const body = await wholeBody(context, LIMIT);
    const { settings } = this.queuesOf(context);
    await settings.set(context.namespace, key, valueOf(key, body));
    await this.show(context, key);
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
  async unset(@Incoming() context: RequestContext, @InPath('key') key: string): Promise<void> {
    await this.queuesOf(context).settings.unset(context.namespace, keyOf(key));
    answerNothing(context);
  }

  private async show(context: RequestContext, key: SettingKey): Promise<void> {
    const { defaults, chosen } = await this.read(context);
    answer(context, 200, asciiJson(settingJson(key, defaults, chosen)));
  }

  private async read(context: RequestContext) {
    const { settings } = this.queuesOf(context);
    return { defaults: settings.defaults, chosen: await settings.chosen(context.namespace) };
  }

  private queuesOf({ caller }: RequestContext): Queues {
    return this.engines.forPool(caller.pool);
  }
}
