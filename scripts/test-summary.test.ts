import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './repository.ts'
import { summarize } from './test-summary.ts'

const file = (status: string, seconds = 1) => ({
  name: join(ROOT, `tests/${status}.test.ts`),
  status,
  startTime: 0,
  endTime: seconds * 1000,
})
const good = {
  numPassedTests: 3,
  numFailedTests: 0,
  success: true,
  testResults: [file('passed'), file('passed')],
}

test('a good run has no failure', () => {
  expect(summarize(good, 0)).toMatchObject({ passed: 3, failed: 0 })
})

test('failed tests are counted', () => {
  const report = { ...good, numFailedTests: 2, success: false, testResults: [file('failed')] }
  expect(summarize(report, 1)).toMatchObject({ passed: 3, failed: 2 })
})

test('files that could not be loaded are failures, although they count no test', () => {
  const testResults = [file('failed'), file('failed'), file('passed')]
  expect(summarize({ ...good, success: false, testResults }, 1).failed).toBe(2)
})

test('an unhandled error is a failure, although every test passed', () => {
  expect(summarize({ ...good, success: false }, 1).failed).toBe(1)
  expect(summarize(good, 1).failed).toBe(1)
})

test('a run that wrote no report is a failure', () => {
  expect(summarize(undefined, 0)).toMatchObject({ passed: 0, failed: 1 })
})

test('the slowest ten files are named, the slowest first', () => {
  const testResults = Array.from({ length: 12 }, (_, n) => file(String(n), n))
  const { slowest } = summarize({ ...good, testResults }, 0)
  expect(slowest).toHaveLength(10)
  expect(slowest[0]).toBe('  11.0 s  tests/11.test.ts')
})
