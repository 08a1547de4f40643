import { expect, test } from 'vitest'
import { summarize } from './test-summary.ts'

const good = {
  numPassedTests: 3,
  numFailedTests: 0,
  success: true,
  testResults: [{ status: 'passed' }, { status: 'passed' }],
}

test('a good run has no failure', () => {
  expect(summarize(good, 0)).toEqual({ passed: 3, failed: 0 })
})

test('failed tests are counted', () => {
  const report = { ...good, numFailedTests: 2, success: false, testResults: [{ status: 'failed' }] }
  expect(summarize(report, 1)).toEqual({ passed: 3, failed: 2 })
})

test('files that could not be loaded are failures, although they count no test', () => {
  const testResults = [{ status: 'failed' }, { status: 'failed' }, { status: 'passed' }]
  expect(summarize({ ...good, success: false, testResults }, 1).failed).toBe(2)
})

test('an unhandled error is a failure, although every test passed', () => {
  expect(summarize({ ...good, success: false }, 1).failed).toBe(1)
  expect(summarize(good, 1).failed).toBe(1)
})

test('a run that wrote no report is a failure', () => {
  expect(summarize(undefined, 0)).toEqual({ passed: 0, failed: 1 })
})
