import { errorCode } from '@tidemark/contracts'
import type { HostHealth } from './host-health.ts'

/** A host, of whatever documents. */
export interface HealthSource {
  health(): HostHealth
}

/** A response to a probe. */
export interface HealthAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Answers a probe of hosts that share a process.
 *
 * `/livez` is 503 when a host has stopped by itself with an error: nothing in the process will start it again, so a restart
 * helps. All else passes by itself, or would be the same after a restart: a lease store that is away, an observer that keeps
 * failing. A process that hangs does not answer at all.
 *
 * `/readyz` is 200 while each host is in its group, its session is valid and the lease store answers; 503 while one
 * starts, drains, has lost its session or has stopped.
 *
 * Neither names a host, a group or a document: probes are open to everybody.
 */
export function healthAnswer(
  hosts: readonly HealthSource[],
  { method, path }: { readonly method: string; readonly path: string },
): HealthAnswer {
  if (path !== '/livez' && path !== '/readyz') {
    return answer(404, { code: 'ERR_NOT_FOUND', message: 'There are only /livez and /readyz.' })
  }
  if (method !== 'GET' && method !== 'HEAD') {
    const message = 'A probe is asked by GET or HEAD.'
    return answer(405, { code: 'ERR_METHOD_NOT_ALLOWED', message }, { allow: 'GET, HEAD' })
  }
  const all = hosts.map((host) => host.health())
  const details = all.map(detailsOf)
  if (path === '/livez') {
    const isAlive = all.every(({ hasFailed }) => !hasFailed)
    return answer(isAlive ? 200 : 503, { status: isAlive ? 'alive' : 'failed', hosts: details })
  }
  const isReady = all.every(isReadyHost)
  return answer(isReady ? 200 : 503, { status: isReady ? 'ready' : 'notReady', hosts: details })
}

/** Degraded by an observer or the feed, a host still works. */
function isReadyHost({ status, leaseStoreAvailable, sessionValidForMs }: HostHealth): boolean {
  const isJoined = status === 'running' || status === 'degraded'
  return isJoined && leaseStoreAvailable && sessionValidForMs !== 0
}

function detailsOf(health: HostHealth): object {
  const leases: Record<string, number> = {}
  for (const { state } of health.leases) leases[state] = (leases[state] ?? 0) + 1
  return {
    status: health.status,
    leases,
    sessionValidForMs: Math.round(health.sessionValidForMs ?? 0),
    leaseStoreAvailable: health.leaseStoreAvailable,
    ...(health.hasFailed && { code: errorCode(health.lastError) ?? 'ERR_FAILED' }),
  }
}

function answer(
  status: number,
  value: object,
  headers: Readonly<Record<string, string>> = {},
): HealthAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(value),
  }
}
