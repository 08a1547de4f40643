import type { OrderDocument } from '../../data/order-document.ts'

export interface WorkerTask<Place extends object> {
  /** From `RunningPeer.newGroup`. */
  readonly place: Place
  /** Documents that are taken at once, and acknowledged or checkpointed at once. */
  readonly pageSize: number
  /** 0 or 1, of `workers`. */
  readonly worker: number
  readonly workers: number
  /** A worker that is not heard of for this long loses its share, whatever the option is called there. */
  readonly takeoverMs: number
  /** Nothing is taken before. */
  readonly gate: Promise<void>
}

/** Looks at documents in their order. Whoever calls it acknowledges them afterwards. */
export type Handle = (documents: readonly OrderDocument[]) => void

export interface JoinedWorker extends AsyncDisposable {
  /** Parts of the documents that this worker holds; undefined where there are no parts. */
  readonly shares: number | undefined
}

/** What a worker's module exports as `join`. Resolves when the worker belongs to the group. */
export type JoinGroup<Place extends object> = (
  task: WorkerTask<Place>,
  handle: Handle,
) => Promise<JoinedWorker>
