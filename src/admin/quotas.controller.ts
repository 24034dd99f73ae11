import { Body, Controller, Get, Param, Put } from '@nestjs/common';
import { NamespaceQuotas } from '../auth/namespace-quotas.js';
import type { Tenant } from '../auth/quota-store.js';
import { checkNames } from '../domain/ids.js';
import { QUOTA_FIELDS, QUOTA_NAMES, type QuotaName } from '../domain/job/quotas.js';
import { Audit } from './audit/audit.js';
import { readQuotas } from './forms.js';
import { Account, OwnQuery } from './parameters.js';
import { OwnPoolPipe } from './pipes.js';

/** The quotas of a namespace in answers: each with the value in effect, and the default of the configuration. */
type ListedQuotas = Record<QuotaName, { readonly value: number; readonly default: number }>;

/** Quotas of namespaces that have their own; lmstfy has none. */
@Controller('namespaces/:namespace/quotas')
export class QuotasController {
  constructor(
    private readonly quotas: NamespaceQuotas,
    private readonly audit: Audit,
  ) {}

  @Get()
  show(
    @Param('namespace') namespace: string,
    @OwnQuery(['pool'], OwnPoolPipe) pool: string,
  ): Promise<{ readonly quotas: ListedQuotas }> {
    checkNames(namespace);
    return this.listed({ pool, namespace });
  }

  /** Sets those that the body names; null is the default again. They hold on every server within a second. */
  @Put()
  async set(
    @Account() account: string | undefined,
    @Param('namespace') namespace: string,
    @OwnQuery(['pool'], OwnPoolPipe) pool: string,
    @Body() body: unknown,
  ): Promise<{ readonly quotas: ListedQuotas }> {
    checkNames(namespace);
    const values = readQuotas(body);
    await this.quotas.set({ pool, namespace }, values);
    this.audit.recordNamespace('namespace.quotas', account, pool, namespace, values);
    return this.listed({ pool, namespace });
  }

  private async listed(tenant: Tenant): Promise<object & { readonly quotas: ListedQuotas }> {
    const { own, defaults } = await this.quotas.of(tenant);
    const quotas = Object.fromEntries(
      QUOTA_NAMES.map((name) => {
        const field = QUOTA_FIELDS[name];
        return [name, { value: own[field], default: defaults[field] }];
      }),
    ) as ListedQuotas;
    return { ...tenant, quotas };
  }
}
