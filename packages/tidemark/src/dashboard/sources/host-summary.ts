import type { HostSummary as ToldSummary } from '@tidemark/contracts'
import type { HostSummary } from '../views.ts'

/** What a host told of its work, as the page shows it. `show` masks texts of errors. */
export function hostSummary(told: ToldSummary, show: (text: string) => string): HostSummary {
  const { changesPerS, batchMs, errors, lastError, halted } = told
  return {
    changesPerSecond: changesPerS,
    batchP50Ms: batchMs?.p50 ?? null,
    batchP99Ms: batchMs?.p99 ?? null,
    errors,
    lastError: lastError === undefined ? null : show(errorText(lastError)),
    lastErrorMs: lastError?.atMs ?? null,
    halted,
  }
}

function errorText({ code, message }: NonNullable<ToldSummary['lastError']>): string {
  return code === undefined ? message : `${code}: ${message}`
}
