/** What a server's process is asked; the first request starts it. */
export type ServerRequest =
  | {
      readonly kind: 'start'
      /** A folder. Undefined: in memory. */
      readonly folder: string | undefined
    }
  | { readonly kind: 'usage' }

export interface ServerReply {
  readonly port: number
  /** After a collection of its garbage. */
  readonly heapBytes: number
  readonly residentBytes: number
  /** Of the process since its start. */
  readonly cpuMs: number
}

export function replyOf(port: number): ServerReply {
  globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  return {
    port,
    heapBytes: heapUsed + external,
    residentBytes: rss,
    cpuMs: (user + system) / 1000,
  }
}
