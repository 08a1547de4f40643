import type { LeaseGroup, LeaseStore } from '@tidemark/contracts'

/** A lease store of which `override` can be watched, and its request changed. */
export function watchingOverride(
  inner: LeaseStore,
  watch: (
    request: Parameters<LeaseGroup['override']>[0],
  ) => Promise<void> | void | Parameters<LeaseGroup['override']>[0],
): LeaseStore {
  return {
    description: inner.description,
    listGroups: (options) => inner.listGroups(options),
    openGroup: async (name, options) => {
      const opened = await inner.openGroup(name, options)
      return new Proxy(opened, {
        get(target, property): unknown {
          if (property === 'override') {
            return async (
              request: Parameters<LeaseGroup['override']>[0],
              s?: AbortSignal,
            ): Promise<unknown> => target.override((await watch(request)) ?? request, s)
          }
          const value: unknown = Reflect.get(target, property)
          return typeof value === 'function' ? (value.bind(target) as unknown) : value
        },
      })
    },
  }
}
