import { expect, test } from 'vitest'
import { workflowProblems } from './check-workflows.ts'

const GOOD = `
on: push
permissions: {}
jobs:
  publish:
    runs-on: ubuntu-24.04
    timeout-minutes: 10
    environment: npm
    permissions: { id-token: write }
    container: node:24@sha256:${'b'.repeat(64)}
    steps:
      - uses: actions/checkout@${'a'.repeat(40)} # v7.0.1
        with: { persist-credentials: false }
      - run: npm run -s build
`

const problemsOf = (text: string): string[] => workflowProblems(text, new Set(['build']))

test('what has least rights, a limit and digests is good', () => {
  expect(problemsOf(GOOD)).toEqual([])
})

test.each([
  ['permissions: {}', 'permissions: { contents: read }', 'permissions of the workflow are not {}'],
  ['permissions: {}', 'env: {}', 'permissions of the workflow are not {}'],
  ['    timeout-minutes: 10\n', '', 'publish: no timeout-minutes'],
  ['    permissions: { id-token: write }\n', '', 'publish: no permissions'],
  ['    environment: npm\n', '', 'publish: id-token without an environment'],
  [`@sha256:${'b'.repeat(64)}`, '', 'publish: node:24 has no digest'],
  [
    `@${'a'.repeat(40)} #`,
    '@v7 #',
    'actions/checkout@v7 # v7.0.1 is not owner/name@commit # v1.2.3',
  ],
  [' # v7.0.1', '', expect.stringContaining('is not owner/name@commit # v1.2.3')],
  ['false', 'true', 'publish: checkout leaves its credentials'],
  ['-s build', 'biuld', 'npm run biuld: package.json has no such script'],
])('%j as %j is found', (right, wrong, problem) => {
  expect(GOOD).toContain(right)
  expect(problemsOf(GOOD.replace(right, wrong))).toEqual([problem])
})
