import type { FaultProcessTask } from '../fault-process.ts'

/* What the processes of these tests are started with. */

export interface GatewayTask extends FaultProcessTask {
  readonly folder: string
  /** The same again for one that takes the place of a killed one; 0 = any. */
  readonly port: number
}

export interface RemoteHostTask extends FaultProcessTask {
  readonly hostName: string
  readonly endpoint: string
  /** Whether the gateway is used as a server that knows nothing of us. */
  readonly isPlain: boolean
  readonly expirationMs: number
}

export const GATEWAY_KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
export const GROUP = 'remote'
export const EVENTS = { database: 'shop', container: 'events' } as const
export const LEASES = { database: 'shop', container: 'leases' } as const
export const RANGES = 6

/** One of many changes of a key; each is a document of its own, so that none hides another. */
export interface RemoteEvent {
  /** `key:number`. */
  readonly id: string
  readonly key: string
}
