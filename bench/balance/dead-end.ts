import type {
  ChangeFeedSource,
  DocumentBody,
  LeaseGroup,
  LeaseStore,
  RequestOptions,
} from '@tidemark/contracts'

/** Cuts one host off from everything, as if its process had been killed. */
export class Cut {
  readonly #controller = new AbortController()

  get isCut(): boolean {
    return this.#controller.signal.aborted
  }

  cut(): void {
    this.#controller.abort()
  }

  /** `target` whose methods never settle after the cut; a call under way never settles either. */
  wrap<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (object, property) => {
        const value: unknown = Reflect.get(object, property, object)
        if (typeof value !== 'function') return value
        return (...parameters: unknown[]): unknown => {
          if (this.isCut) return NEVER
          const result: unknown = Reflect.apply(value, object, parameters)
          return result instanceof Promise ? this.#orNever(result) : result
        }
      },
    })
  }

  async #orNever<R>(result: Promise<R>): Promise<R> {
    try {
      const value = await result
      return this.isCut ? await (NEVER as Promise<R>) : value
    } catch (error) {
      if (this.isCut) await NEVER
      throw error
    }
  }
}

const NEVER = new Promise<never>(() => {})

/** A lease store that can be cut, and that counts the calls that reach it. */
export function watchedLeaseStore(
  leases: LeaseStore,
  { cut, onCall }: { readonly cut: Cut; readonly onCall: () => void },
): LeaseStore {
  return cut.wrap({
    description: leases.description,
    collectionIdentity: leases.collectionIdentity,
    openGroup: async (group: string, options?: RequestOptions): Promise<LeaseGroup> =>
      cut.wrap(counted(await leases.openGroup(group, options), onCall)),
    listGroups: (options) => leases.listGroups(options),
  })
}

export function watchedFeed<T extends DocumentBody>(
  feed: ChangeFeedSource<T>,
  cut: Cut,
): ChangeFeedSource<T> {
  return cut.wrap(feed)
}

const LOCAL = new Set<string | symbol>(['subscribe', 'close'])

function counted(group: LeaseGroup, onCall: () => void): LeaseGroup {
  return new Proxy(group, {
    get(object, property) {
      const value: unknown = Reflect.get(object, property, object)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]): unknown => {
        if (!LOCAL.has(property)) onCall()
        return Reflect.apply(value, object, parameters)
      }
    },
  })
}
