/** A target that waits for slots. */
interface Waiter {
  readonly wanted: number;
  readonly grant: (slots: number) => void;
}

/** A namespace that holds slots, or waits for some. */
interface Tenant {
  used: number;
  /** By target. */
  readonly held: Map<string, number>;
  /** By target, in the order in which they came. */
  readonly waiting: Map<string, Waiter>;
}

/** The slots of one namespace. */
export interface TenantSlots {
  /** Takes up to `wanted` slots, at least one; 0 if none is free for this target now. */
  tryTake(target: string, wanted: number): number;
  /** Waits for slots; each target waits once at a time. @returns 0 if `signal` is aborted */
  take(target: string, wanted: number, signal: AbortSignal): Promise<number>;
  /** Gives slots back. */
  free(target: string, slots: number): void;
}

/** Of the slots, the part of the reserve, at least one: it gives namespaces that hold no slot one each. */
const RESERVE = 1 / 8;
/** A namespace holds at most so many times the slots that it leaves free, */
const TENANT_FACTOR = 3;
/** and a target so many times those that its namespace could still take. */
const TARGET_FACTOR = 1;

/**
 * Slots for requests under way, shared by namespace first, then by target. Requests may take minutes, and none is cut off for another
 * one: so each share leaves room for the next that comes, and is smaller the less there is left.
 */
export class Slots {
  private used = 0;
  private readonly reserve: number;
  private readonly tenants = new Map<string, Tenant>();
  /** Those with targets that wait, the one that waits longest first. */
  private readonly waiting = new Map<string, Tenant>();

  /** @param known how many namespaces may want slots now: one alone leaves the reserve only, for those that come later */
  constructor(
    private readonly total: number,
    private readonly known: () => number,
  ) {
    this.reserve = Math.min(Math.max(Math.floor(total * RESERVE), 1), total - 1);
  }

  /** Slots in use now. */
  get inUse(): number {
    return this.used;
  }

  /** @param tenant a pool and a namespace of it */
  of(tenant: string): TenantSlots {
    return {
      tryTake: (target, wanted) => this.tryTake(tenant, target, wanted),
      take: (target, wanted, signal) => this.take(tenant, target, wanted, signal),
      free: (target, slots) => this.free(tenant, target, slots),
    };
  }

  private tryTake(name: string, target: string, wanted: number): number {
    const tenant = this.tenantOf(name);
    const own = tenant.held.get(target) ?? 0;
    const ofTenant = this.roomOf(tenant);
    const room = Math.min(roomIn(ofTenant, own, TARGET_FACTOR), ofTenant);
    const taken = Math.min(wanted, room);
    if (taken > 0) {
      this.used += taken;
      tenant.used += taken;
      tenant.held.set(target, own + taken);
    }
    this.forgetIdle(name, tenant);
    return taken;
  }

  private take(name: string, target: string, wanted: number, signal: AbortSignal): Promise<number> {
    const taken = signal.aborted ? 0 : this.tryTake(name, target, wanted);
    if (taken > 0 || signal.aborted) return Promise.resolve(taken);
    return new Promise((resolve) => {
      const tenant = this.tenantOf(name);
      const leave = (): void => {
        tenant.waiting.delete(target);
        this.forgetIdle(name, tenant);
        resolve(0);
      };
      const waiter: Waiter = {
        wanted,
        grant: (slots) => {
          signal.removeEventListener('abort', leave);
          resolve(slots);
        },
      };
      tenant.waiting.set(target, waiter);
      this.waiting.set(name, tenant);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  private free(name: string, target: string, slots: number): void {
    if (slots === 0) return;
    const tenant = this.tenantOf(name);
    this.used -= slots;
    tenant.used -= slots;
    const left = (tenant.held.get(target) ?? 0) - slots;
    if (left > 0) tenant.held.set(target, left);
    else tenant.held.delete(target);
    this.forgetIdle(name, tenant);
    this.serve();
  }

  /** Slots that the namespace could take now. */
  private roomOf(tenant: Tenant): number {
    const free = this.total - this.used;
    const shared = free - /* guard: push-slots-reserve */ this.reserve;
    const room =
      this.known() <= 1
        ? Math.max(/* guard: push-slots-reserve-when-alone */ shared, tenant.used === 0 ? 1 : 0)
        : roomIn(shared, tenant.used, TENANT_FACTOR);
    return /* guard: push-slots-by-namespace */ Math.min(room, free);
  }

  /** One target of each namespace in turn, for as long as there are slots for any of them. */
  private serve(): void {
    for (const [name, tenant] of this.waiting) {
      if (!this.serveOne(name, tenant)) continue;
      this.waiting.delete(name);
      // Behind the others: the loop comes to it again.
      if (tenant.waiting.size > 0) this.waiting.set(name, tenant);
    }
  }

  private serveOne(name: string, tenant: Tenant): boolean {
    if (this.roomOf(tenant) === 0) return false;
    for (const [target, { wanted, grant }] of tenant.waiting) {
      const taken = this.tryTake(name, target, wanted);
      if (taken === 0) continue;
      tenant.waiting.delete(target);
      grant(taken);
      return true;
    }
    return false;
  }

  private tenantOf(name: string): Tenant {
    const known = this.tenants.get(name);
    if (known) return known;
    const tenant: Tenant = { used: 0, held: new Map(), waiting: new Map() };
    this.tenants.set(name, tenant);
    return tenant;
  }

  private forgetIdle(name: string, tenant: Tenant): void {
    if (tenant.waiting.size > 0) return;
    this.waiting.delete(name);
    if (tenant.used === 0) this.tenants.delete(name);
  }
}

/**
 * How many more one may take that has `own`, where `free` are left: so many that it has at most `factor` times what is left after it; and
 * one, if it has none.
 */
function roomIn(free: number, own: number, factor: number): number {
  const most = Math.floor(((Math.max(free, 0) + own) * factor) / (factor + 1));
  return Math.max(most - own, own === 0 ? 1 : 0);
}
