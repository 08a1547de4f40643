import { MissingPackageError } from '@tidemark/contracts'
import { importOptional } from '@tidemark/contracts/internal'
import type { ServedRequest } from '@tidemark/gateway'
import type { AccessRule } from '../../dashboard/access.ts'
import { metricsPackages } from '../../platform/optional-packages.ts'
import { ANSWER_HEADERS, problemAnswer } from '../../dashboard/problem-answer.ts'
import { openLeases } from '../lease-location.ts'
import type { Beside } from './beside.ts'
import type { MeteredServer, ServedMetrics } from './served-metrics.ts'

export interface MetricsOptions extends Omit<MeteredServer, 'leases'> {
  readonly access: AccessRule
  /** Place of leases, beside collections named "leases". @default none */
  readonly leases?: string | undefined
}

export interface MetricsRoute extends AsyncDisposable {
  readonly beside: Beside
  readonly onRequest: (request: ServedRequest) => void
}

/**
 * `GET /metrics`, in Prometheus' text format. OpenTelemetry's SDK is loaded, and counting begins, when it is first asked for:
 * who never asks pays nothing.
 */
export function metricsRoute({ access, leases, ...server }: MetricsOptions): MetricsRoute {
  let loading: Promise<ServedMetrics> | undefined
  let loaded: ServedMetrics | undefined
  const load = async (): Promise<ServedMetrics> => {
    const { ServedMetrics } = await importOptional(
      metricsPackages(),
      () => import('./served-metrics.ts'),
    )
    const { store } = server
    const opened =
      leases === undefined ? undefined : await openLeases(leases, { store, missing: 'fail' })
    loaded = new ServedMetrics({ ...server, leases: opened })
    return loaded
  }
  return {
    beside: async (request) => {
      if (new URL(request.url).pathname !== '/metrics') return undefined
      const refused = await access(request)
      if (refused !== undefined) return refused
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        const message = 'Metrics are asked for by GET or HEAD.'
        return problemAnswer(
          405,
          { code: 'ERR_METHOD_NOT_ALLOWED', message },
          { allow: 'GET, HEAD' },
        )
      }
      loading ??= load()
      // What could not be loaded is tried again by the next one who asks.
      loading.catch(() => (loading = undefined))
      let metrics: ServedMetrics
      try {
        metrics = await loading
      } catch (error) {
        if (!(error instanceof MissingPackageError)) throw error
        return problemAnswer(501, error)
      }
      return new Response(request.method === 'HEAD' ? null : await metrics.text(), {
        headers: {
          ...ANSWER_HEADERS,
          'content-type': 'text/plain; version=0.0.4; charset=utf-8',
        },
      })
    },
    onRequest: (request) => loaded?.record(request),
    [Symbol.asyncDispose]: async () => {
      await loading?.catch(() => {})
      await loaded?.close()
    },
  }
}
