import type { DocumentBody } from '@tidemark/contracts'
import type { ChangeFeedProcessorHost } from '@tidemark/processor'
import type { SimulatedProcess } from '../time/simulated-process.ts'
import type { NetworkLink } from './network-link.ts'
import type { OutsideLink } from './outside-link.ts'

/** One process of the group, with the host that runs in it. */
export interface Member {
  /** Unique, whatever names processes have. */
  readonly id: number
  readonly name: string
  readonly process: SimulatedProcess
  /** To the lease store. */
  readonly link: NetworkLink
  /** To what observers write to. */
  readonly outside: OutsideLink
  readonly host: ChangeFeedProcessorHost<DocumentBody>
  /** `ended`: the host ended, by itself or as it was told; nothing of it runs. */
  status: 'running' | 'leaving' | 'ended' | 'dead'
  /** Another process has started under its name since. */
  isOutdone: boolean
}

/** Whether its host works, or would if the process were not stopped. */
export function isAlive({ status }: Member): boolean {
  return status === 'running' || status === 'leaving'
}
