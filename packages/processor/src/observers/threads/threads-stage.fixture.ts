import { randomUUID } from 'node:crypto'
import { BroadcastChannel } from 'node:worker_threads'
import { FULL_RANGE, lsn, type Change, type ObserverContext } from '@tidemark/contracts'
import type { Report, ScriptData } from './scripted-observer.fixture.ts'

export const SCRIPTED: URL = new URL('./scripted-observer.fixture.ts', import.meta.url)

/** What observers in threads tell, and what they are told to do. */
export class Script implements Disposable {
  readonly reports: Report[] = []
  readonly data: ScriptData
  readonly #channel: BroadcastChannel

  constructor(deeds: ScriptData['deeds'] = {}) {
    const channel = randomUUID()
    this.data = {
      channel,
      gate: new Int32Array(new SharedArrayBuffer(8)),
      deeds,
      done: new Int32Array(new SharedArrayBuffer(4 * Math.max(1, Object.keys(deeds).length))),
    }
    this.#channel = new BroadcastChannel(channel)
    this.#channel.onmessage = (event) => this.reports.push((event as { data: Report }).data)
  }

  /** How many have come to the gate. */
  get atGate(): number {
    return Atomics.load(this.data.gate, 1)
  }

  openGate(): void {
    Atomics.store(this.data.gate, 0, 1)
    Atomics.notify(this.data.gate, 0)
  }

  of(call: Report['call'], leaseId?: string): readonly Report[] {
    return this.reports.filter(
      (report) =>
        report.call === call && (leaseId === undefined || report.context?.leaseId === leaseId),
    )
  }

  [Symbol.dispose](): void {
    this.openGate()
    this.#channel.close()
  }
}

/** Waits for what is the case sooner or later; the limit is for what never is. */
export async function until(
  condition: () => boolean,
  what: string = 'the condition',
): Promise<void> {
  const deadlineMs = performance.now() + 25_000
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error(`${what} did not come`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** A context as a pump would make it. */
export function contextOf(leaseId: string, over: Partial<ObserverContext> = {}): ObserverContext {
  return {
    hostName: 'host',
    group: 'group',
    leaseId,
    range: FULL_RANGE,
    fence: { generation: 'g', epoch: 7, lsn: lsn(0) },
    signal: new AbortController().signal,
    attempt: 1,
    redriven: false,
    accepted: () => true,
    checkpoint: async () => {},
    ...over,
  }
}

export function changesOf(...ids: readonly string[]): Change[] {
  return ids.map((id, index) => ({
    kind: 'document',
    id,
    partitionKey: 'key',
    lsn: lsn(index + 1),
    committedAtMs: 0,
    document: { id, _rid: '', _self: '', _etag: '""', _ts: 0, _lsn: index + 1 },
  }))
}
