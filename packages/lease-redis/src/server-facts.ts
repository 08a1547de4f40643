import type { ServerFacts } from './judge-durability.ts'
import { replyText } from './lease-replies.ts'
import { isClusterClient, type RedisClient, type RedisNode } from './redis-client.ts'
import { isForbidden } from './redis-lease-error.ts'

/** Patterns of CONFIG GET, one at a time: servers before Redis 7 accept only one. */
const SETTINGS = ['append*', 'save', 'min-replicas-*', 'maxmemory*']

/**
 * The reports of every server that holds a part of the leases: the single one, or each master of a Cluster. `key` is
 * any key that the user can read.
 */
export async function readServerFacts(
  redis: RedisClient,
  key: string,
): Promise<readonly ServerFacts[]> {
  if (!isClusterClient(redis)) return [await readFacts(redis)]
  // A lazy client has no masters before its first command.
  if (redis.nodes('master').length === 0) await redis.smembers(key)
  const masters = redis.nodes('master')
  if (masters.length === 0) throw new Error('the Cluster lists no masters')
  return Promise.all(masters.map(readFacts))
}

async function readFacts(server: RedisNode): Promise<ServerFacts> {
  const [info, ...settings] = await Promise.all([
    unlessForbidden(server.call('INFO')),
    ...SETTINGS.map((pattern) => unlessForbidden(server.call('CONFIG', 'GET', pattern))),
  ])
  const { host = '', port = '' } = server.options ?? {}
  const isKnown = settings.every((answer) => answer !== undefined)
  return {
    name: `${host}:${port}`,
    settings: isKnown ? new Map(settings.flatMap(pairs)) : undefined,
    info: info === undefined ? undefined : new Map(infoFields(replyText(info))),
  }
}

async function unlessForbidden(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    if (isForbidden(error)) return undefined
    throw error
  }
}

/** From a flat list of names and values. */
function pairs(answer: unknown): readonly (readonly [string, string])[] {
  const list: readonly unknown[] = Array.isArray(answer) ? answer : []
  return list.flatMap((name, index) =>
    index % 2 === 0 ? [[replyText(name), replyText(list[index + 1])] as const] : [],
  )
}

/** `name:value` lines. */
function infoFields(text: string): readonly (readonly [string, string])[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const colon = line.indexOf(':')
    return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)] as const] : []
  })
}
