import { relative } from 'node:path'
import { ROOT } from './repository.ts'

/** What the JSON reporter of vitest writes, as far as it counts here. */
export interface TestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly success: boolean
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly startTime: number
    readonly endTime: number
  }[]
}

export interface TestSummary {
  readonly passed: number
  readonly failed: number
  /** The files that took longest, a line each. */
  readonly slowest: readonly string[]
}

const SLOWEST = 10

/**
 * The closing numbers of a run. A test file that cannot be loaded counts no test, and an unhandled error fails no
 * test: `failed` counts both, so that it is zero exactly when the run was good.
 */
export function summarize(report: TestReport | undefined, exitCode: number): TestSummary {
  if (report === undefined) return { passed: 0, failed: 1, slowest: [] }
  const failedFiles = report.testResults.filter(({ status }) => status === 'failed').length
  const badRun = exitCode !== 0 || !report.success ? 1 : 0
  return {
    passed: report.numPassedTests,
    failed: Math.max(report.numFailedTests, failedFiles, badRun),
    slowest: report.testResults
      .map(({ name, startTime, endTime }) => ({ name, seconds: (endTime - startTime) / 1000 }))
      .toSorted((a, b) => b.seconds - a.seconds)
      .slice(0, SLOWEST)
      .map(({ name, seconds }) => `${seconds.toFixed(1).padStart(6)} s  ${relative(ROOT, name)}`),
  }
}
