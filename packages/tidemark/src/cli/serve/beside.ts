/**
 * One of those that answer beside the protocols of clients, on the gateway's port: probes, figures, the page. Undefined: the
 * request is for another one.
 */
export type Beside = (request: Request) => Promise<Response | undefined>

/** Asks one after another, until one answers. */
export function firstOf(all: readonly Beside[]): Beside {
  return async (request) => {
    for (const beside of all) {
      const response = await beside(request)
      if (response !== undefined) return response
    }
    return undefined
  }
}
