/** How several workers of one group share its documents. */
export type Sharing =
  /** Whoever is free takes the next ones, or shares move between workers. */
  | 'dynamic'
  /** Each worker has a part of the keys for good. */
  | 'static'
  /** One works; the others wait until it is gone. */
  | 'standby'

/** Something that hands documents from writers to groups of workers. */
export interface PeerEntry {
  /** As in figures and in `--only`. */
  readonly name: string
  /** What breaks a promise of ours is an error; what a peer does not promise is counted. */
  readonly isOurs: boolean
  readonly sharing: Sharing
  /** How many parts there are to share out, where workers hold parts. */
  readonly parts?: number | undefined
  /** True when all runs inside the workers, so that a slow disk is theirs. */
  readonly isEmbedded: boolean
  /** A module that exports `join`, loaded in worker processes only. */
  readonly worker: URL
  start(options: StartOptions): Promise<RunningPeer>
}

export interface StartOptions {
  /** Of this peer's own. */
  readonly folder: string
  /** The shortest `WorkerTask.takeoverMs`, for servers that have it as a setting. */
  readonly takeoverMs: number
}

export interface NewGroup {
  readonly begin: 'beginning' | 'now'
  /** As `WorkerTask.takeoverMs`. */
  readonly takeoverMs: number
}

/** A peer with its servers, seen from the writing side. */
export interface RunningPeer extends AsyncDisposable {
  /** Program, version and settings, in a few words. */
  readonly version: string
  /** Ids of its servers' processes. */
  readonly serverPids: readonly number[]
  /** Called once, first: documents 0 to `count` for groups that begin at the beginning. */
  load(count: number): Promise<void>
  /** A group without workers. Its place is what `join` gets. */
  newGroup(options: NewGroup): Promise<object>
  /** Resolves when the peer has acknowledged document `index`. */
  write(index: number): Promise<void>
}
