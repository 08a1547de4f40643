import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CosmosConnection, CosmosDocumentCollection } from '@tidemark/gateway/client'
import { FaultProcess } from '../fault-process.ts'
import { entriesOf, type HistoryEntry } from '../history.ts'
import { FAULT_TIMES } from '../host-process.ts'
import {
  neverDone,
  neverWritten,
  outOfOrder,
  staleOverRanges,
} from '../ranges/check-range-history.ts'
import { until } from '../until.ts'
import {
  EVENTS,
  GATEWAY_KEY,
  RANGES,
  type GatewayTask,
  type RemoteEvent,
  type RemoteHostTask,
} from './gateway-tasks.ts'
import { notingFetch } from './noting-fetch.ts'
import { RemoteWriter } from './remote-writer.ts'

type RemoteHost = FaultProcess<RemoteHostTask>

/** A gateway in a process of its own, and workers in others that know its endpoint and nothing else. */
export class GatewayStage implements AsyncDisposable {
  readonly endpoint: string
  readonly #folder: string
  readonly #isPlain: boolean
  readonly #expirationMs: number
  readonly #hosts: RemoteHost[] = []
  /** Requests of writers whose connection failed. */
  failedWrites = 0
  #gateway: FaultProcess<GatewayTask>
  #gateways = 1

  private constructor(stage: {
    readonly folder: string
    readonly isPlain: boolean
    readonly expirationMs: number
    readonly gateway: FaultProcess<GatewayTask>
    readonly endpoint: string
  }) {
    this.endpoint = stage.endpoint
    this.#folder = stage.folder
    this.#isPlain = stage.isPlain
    this.#expirationMs = stage.expirationMs
    this.#gateway = stage.gateway
  }

  static async open({
    isPlain,
    expirationMs = FAULT_TIMES.expirationMs,
  }: {
    readonly isPlain: boolean
    readonly expirationMs?: number | undefined
  }): Promise<GatewayStage> {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-gateway-'))
    const gateway = await startGatewayProcess(folder, { port: 0, label: 'gateway-1' })
    const started = entriesOf(gateway.history, 'event').find(({ name }) => name === 'started')
    return new GatewayStage({
      folder,
      isPlain,
      expirationMs,
      gateway,
      endpoint: started?.detail ?? '',
    })
  }

  /** Without duplicates of what is in flight, each key in order. */
  startWriter(): RemoteWriter {
    const connection = new CosmosConnection({
      endpoint: this.endpoint,
      key: GATEWAY_KEY,
      fetch: notingFetch(fetch, () => this.failedWrites++),
    })
    const events = new CosmosDocumentCollection<RemoteEvent>(connection, EVENTS)
    return new RemoteWriter(events, { keys: 12, pauseMs: 80 })
  }

  async startHost(hostName: string): Promise<RemoteHost> {
    const host = await FaultProcess.start<RemoteHostTask>('gateway/remote-host.child.ts', {
      hostName,
      endpoint: this.endpoint,
      isPlain: this.#isPlain,
      expirationMs: this.#expirationMs,
      historyFile: join(this.#folder, `history-${hostName}-${this.#hosts.length}.jsonl`),
    })
    this.#hosts.push(host)
    return host
  }

  /** Kills the gateway, and starts another one on the same folder and port. */
  async replaceGateway(): Promise<void> {
    await this.#gateway.kill()
    this.#gateways += 1
    const { port } = new URL(this.endpoint)
    const label = `gateway-${this.#gateways}`
    this.#gateway = await startGatewayProcess(this.#folder, { port: Number(port), label })
  }

  /** Waits until the hosts hold all leases, none two more than another. */
  async untilShared(hosts: readonly RemoteHost[]): Promise<void> {
    await until(
      () => {
        for (const host of hosts) host.assertAlive()
        const counts = hosts.map((host) => openLeases(host).length)
        const sum = counts.reduce((total, count) => total + count, 0)
        return sum === RANGES && Math.max(...counts) - Math.min(...counts) <= 1
      },
      { what: `${RANGES} leases shared out over ${hosts.length} hosts` },
    )
  }

  async untilDone(written: readonly string[]): Promise<void> {
    await until(() => neverDone(written, this.histories()).length === 0, {
      what: 'every written change done',
    })
  }

  /** What must not be: lost, made up, out of order per key, or dispatched by an owner that was replaced. */
  wrongs(written: readonly string[]): object {
    const histories = this.histories()
    return {
      lost: neverDone(written, histories),
      madeUp: neverWritten(written, histories),
      outOfOrder: outOfOrder(histories),
      stale: staleOverRanges(histories),
      // The one that runs; of a killed one nothing is asked.
      failures: entriesOf(this.#gateway.history, 'event').filter(({ name }) => name === 'failure'),
    }
  }

  /** How often hosts told of an event. */
  told(name: string): number {
    return this.#hosts.reduce((sum, host) => sum + host.events(name), 0)
  }

  histories(): readonly (readonly HistoryEntry[])[] {
    return this.#hosts.map(({ history }) => history)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#hosts, this.#gateway].map((process) => process.end()))
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** Leases that a host has open at the end of its history. */
export function openLeases({ history }: Pick<RemoteHost, 'history'>): readonly string[] {
  const open = new Set<string>()
  for (const entry of history) {
    if (entry.kind === 'open') open.add(entry.lease)
    if (entry.kind === 'close') open.delete(entry.lease)
  }
  return [...open]
}

function startGatewayProcess(
  folder: string,
  { port, label }: { readonly port: number; readonly label: string },
): Promise<FaultProcess<GatewayTask>> {
  const historyFile = join(folder, `history-${label}.jsonl`)
  return FaultProcess.start('gateway/gateway.child.ts', { folder, port, historyFile })
}
