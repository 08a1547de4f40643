import { SinkTargetError } from '../sink-target-error.ts'
import { SinkUnavailableError } from '../sink-unavailable-error.ts'
import type { SinkSource } from '../sink.ts'
import { withinSignal } from '../within-signal.ts'
import { sha1 } from './platform/sha1.ts'

/** What the sinks need of an ioredis `Redis` or `Cluster`. */
export interface RedisCommands {
  /** True for a `Cluster`. */
  readonly isCluster?: boolean | undefined
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>
  set(key: string, value: string, condition: 'NX'): Promise<unknown>
  get(key: string): Promise<string | null>
}

export interface RedisScript {
  readonly text: string
  readonly sha1: string
}

export function redisScript(text: string): RedisScript {
  return { text, sha1: sha1(text) }
}

/** Runs a script; loads it where the server does not have it, as after a restart. */
export async function runScript(
  redis: RedisCommands,
  { text, sha1: name }: RedisScript,
  { keys, args }: { readonly keys: readonly string[]; readonly args: readonly string[] },
): Promise<unknown> {
  try {
    return await redis.evalsha(name, keys.length, ...keys, ...args)
  } catch (error) {
    if (!messageOf(error).startsWith('NOSCRIPT')) throw error
    return redis.eval(text, keys.length, ...keys, ...args)
  }
}

/** Makes the target this feed's, unless it is another's. Rejects with ERR_SINK_TARGET then. */
export async function bindTarget(
  redis: RedisCommands,
  key: string,
  { source, signal }: { readonly source: SinkSource; readonly signal: AbortSignal | undefined },
): Promise<void> {
  const { identity, description } = source
  let feed: string | null
  try {
    await withinSignal(redis.set(key, identity, 'NX'), signal)
    feed = await withinSignal(redis.get(key), signal)
  } catch (cause) {
    signal?.throwIfAborted()
    throw unavailable(cause)
  }
  if (feed === identity) return
  throw new SinkTargetError(
    `${key} says that its keys are filled from feed ${String(feed)}, and ${description} is ` +
      `${identity}: their versions cannot be compared`,
  )
}

/** What a failed call means: the server or the connection is to blame, unless the caller wants no answer any more. */
export function callError(cause: unknown, signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : unavailable(cause)
}

function unavailable(cause: unknown): SinkUnavailableError {
  return new SinkUnavailableError(`Redis: ${messageOf(cause)}`, { cause })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
